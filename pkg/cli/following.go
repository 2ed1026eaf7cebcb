package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/client"
)

// Maximum number of datasources requested one by one; more are listed.
const askSingly = 50

// listen forwards changes of the datastore, and reconnects when the stream breaks.
func (s *sending) listen(ctx context.Context, news chan<- client.Change) {
	for ctx.Err() == nil {
		changes, err := s.client.WatchDatastore(ctx, s.storeID)
		if err == nil {
			for change, err := range changes {
				if err != nil {
					break
				}
				select {
				case news <- change:
				case <-ctx.Done():
					return
				}
			}
			select {
			case news <- client.Change{}: // something may have been missed
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// hear processes a change of a datasource.
func (s *sending) hear(change client.Change) {
	s.heard = time.Now()
	switch e := change.Datasource; {
	case e == nil && change.DeletedID == "":
		s.later(s.askForAll)
	case e == nil || !isEnd(e.Status):
	case s.waiting[e.Id] != nil:
		if s.unsure[e.Id] { // the change may concern the previous version
			s.later(s.askFor(e.Id))
			return
		}
		s.settle(e.Id, e.Status, e.Chunks, valueOf(e.Error))
	case e.GroupId == "":
		s.early[e.Id] = e
	}
}

// askFor requests the state of a datasource.
func (s *sending) askFor(id string) chore {
	return func(ctx context.Context) func() error {
		d, err := s.client.GetDatasource(ctx, id)
		return func() error {
			switch {
			case client.CodeOf(err) == client.CodeNotFound:
				s.vanished(id)
				return nil
			case err != nil:
				return err
			case isEnd(d.Status):
				s.settle(id, d.Status, d.Chunks, valueOf(d.Error))
			}
			return nil
		}
	}
}

// askForAll requests the state of all pending datasources.
func (s *sending) askForAll(ctx context.Context) func() error {
	// It is called in another goroutine; the returned function runs in the main loop.
	return func() error {
		if len(s.waiting) <= askSingly {
			for id := range s.waiting {
				s.later(s.askFor(id))
			}
			return nil
		}
		wanted := make(map[string]bool, len(s.waiting))
		for id := range s.waiting {
			wanted[id] = true
		}
		s.later(func(ctx context.Context) func() error {
			var ends []client.Datasource
			for d, err := range s.client.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &s.storeID}) {
				if err != nil {
					return func() error { return err }
				}
				if wanted[d.Id] {
					delete(wanted, d.Id)
					if isEnd(d.Status) {
						ends = append(ends, d)
					}
				}
			}
			return func() error {
				for _, d := range ends {
					s.settle(d.Id, d.Status, d.Chunks, valueOf(d.Error))
				}
				for id := range wanted { // missing in the list, so check whether they are gone
					if s.waiting[id] != nil {
						s.later(s.askFor(id))
					}
				}
				return nil
			}
		})
		return nil
	}
}

// vanished sends a document again if its datasource is gone: it may have been deleted after the service reported it.
func (s *sending) vanished(id string) {
	d := s.waiting[id]
	if d == nil {
		return
	}
	delete(s.waiting, id)
	s.library.forget(d, id)
	s.out.Found--
	s.out.Sent--
	s.later(func(ctx context.Context) func() error {
		batch, err := s.send(ctx, []*document{d}, id)
		return func() error {
			for _, r := range batch {
				s.took(r)
			}
			return err
		}
	})
}

// settle records the result of processing a datasource.
func (s *sending) settle(id string, status client.DatasourceStatus, chunks int64, why string) {
	d := s.waiting[id]
	if d == nil {
		return
	}
	delete(s.waiting, id)
	delete(s.unsure, id)
	s.library.put(d, kept{id: id, digest: d.digest, status: status, chunks: chunks, err: why, name: d.name, metadata: d.metadata})
	if d.kind == client.DatasourceTypeText {
		s.library.put(d, kept{
			id: id, digest: d.digest, status: status, chunks: chunks, err: why, name: valueOf(d.text.Name), metadata: d.allMetadata(),
		})
	}
	s.out.Documents = append(s.out.Documents, taken{Name: d.name, ID: id, Status: status, Chunks: chunks, Error: why})
	switch status {
	case client.DatasourceStatusError:
		s.fail(d.name, id, why)
	case client.DatasourceStatusSkipped:
		s.leave(d.name, why)
	default:
		s.out.Synched++
		s.clear(d, id)
	}
	if d.kind == client.DatasourceTypeWebSite {
		s.later(s.tellSite(len(s.out.Documents) - 1))
	}
}

// clear deletes older versions of a document that is now searchable.
func (s *sending) clear(d *document, id string) {
	for _, old := range s.stale[id] {
		s.later(s.delete(d, old))
	}
	delete(s.stale, id)
}

func (s *sending) delete(d *document, id string) chore {
	return func(ctx context.Context) func() error {
		err := s.client.DeleteDatasource(ctx, id)
		return func() error {
			if err != nil && client.CodeOf(err) != client.CodeNotFound {
				return fmt.Errorf("deleting an old version of %s: %w", d.name, err)
			}
			s.library.forget(d, id)
			s.out.Deleted++
			return nil
		}
	}
}

// tellSite requests the results of a site's pages.
func (s *sending) tellSite(n int) chore {
	site := s.out.Documents[n].ID
	return func(ctx context.Context) func() error {
		d, err := s.client.GetDatasource(ctx, site)
		return func() error {
			if err != nil || d.Crawl == nil {
				return err
			}
			s.out.Documents[n].Crawl = d.Crawl
			s.show.note(fmt.Sprintf("%s: %s, %d failed, %d left out on purpose", line(s.out.Documents[n].Name), Counted(d.Crawl.Discovered, "page"),
				d.Crawl.Failed, d.Crawl.Skipped))
			return nil
		}
	}
}
