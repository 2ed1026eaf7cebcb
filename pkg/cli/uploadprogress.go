package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/sleep"
)

// Maximum number of datasources to request one by one. For more, the whole list is read.
const maxSingleRequests = 50

// listen forwards the datastore's changes to `news`, reconnecting if the stream breaks.
func (s *upload) listen(ctx context.Context, news chan<- client.Change) {
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
			case news <- client.Change{}: // no id: changes may have been missed
			case <-ctx.Done():
				return
			}
		}
		_ = sleep.For(ctx, time.Second)
	}
}

func (s *upload) handleChange(change client.Change) {
	s.lastEvent = time.Now()
	switch e := change.Datasource; {
	case e == nil && change.DeletedID == "":
		s.addTask(s.requestAllStates)
	case e == nil || !isFinal(e.Status):
	case s.waiting[e.Id] != nil:
		if s.possiblyStale[e.Id] { // the event may concern the previous version
			s.addTask(s.requestState(e.Id))
			return
		}
		s.finish(e.Id, e.Status, e.Chunks, valueOf(e.Error))
	case e.GroupId == "":
		s.earlyEvents[e.Id] = e
	}
}

func (s *upload) requestState(id string) task {
	return func(ctx context.Context) func() error {
		d, err := s.client.GetDatasource(ctx, id)
		return func() error {
			switch {
			case client.CodeOf(err) == client.CodeNotFound:
				s.resendDeleted(id)
				return nil
			case err != nil:
				return err
			case isFinal(d.Status):
				s.finish(id, d.Status, d.Chunks, valueOf(d.Error))
			}
			return nil
		}
	}
}

func (s *upload) requestAllStates(ctx context.Context) func() error {
	// The main loop calls the returned function, and only the main loop may access s.waiting. The statements outside
	// that function run concurrently with the main loop.
	return func() error {
		if len(s.waiting) <= maxSingleRequests {
			for id := range s.waiting {
				s.addTask(s.requestState(id))
			}
			return nil
		}
		wanted := make(map[string]bool, len(s.waiting))
		for id := range s.waiting {
			wanted[id] = true
		}
		s.addTask(func(ctx context.Context) func() error {
			var ends []client.Datasource
			for d, err := range s.client.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &s.storeID}) {
				if err != nil {
					return func() error { return err }
				}
				if wanted[d.Id] {
					delete(wanted, d.Id)
					if isFinal(d.Status) {
						ends = append(ends, d)
					}
				}
			}
			return func() error {
				for _, d := range ends {
					s.finish(d.Id, d.Status, d.Chunks, valueOf(d.Error))
				}
				for id := range wanted { // not in the list: check whether they were deleted
					if s.waiting[id] != nil {
						s.addTask(s.requestState(id))
					}
				}
				return nil
			}
		})
		return nil
	}
}

// resendDeleted sends a document again because its datasource was deleted, perhaps after this run found it in the
// datastore.
func (s *upload) resendDeleted(id string) {
	d := s.waiting[id]
	if d == nil {
		return
	}
	delete(s.waiting, id)
	s.stored.remove(d, id)
	s.out.Found--
	s.out.Sent--
	s.addTask(func(ctx context.Context) func() error {
		batch, err := s.send(ctx, []*document{d}, id)
		return func() error {
			for _, r := range batch {
				s.recordSent(r)
			}
			return err
		}
	})
}

// finish records the result of processing a datasource.
func (s *upload) finish(id string, status client.DatasourceStatus, chunks int64, why string) {
	d := s.waiting[id]
	if d == nil {
		return
	}
	delete(s.waiting, id)
	delete(s.possiblyStale, id)
	s.stored.put(d, storedDocument{id: id, digest: d.digest, status: status, chunks: chunks, err: why, name: d.name, metadata: d.metadata})
	if d.kind == client.DatasourceTypeText {
		s.stored.put(d, storedDocument{
			id: id, digest: d.digest, status: status, chunks: chunks, err: why, name: valueOf(d.text.Name), metadata: d.allMetadata(),
		})
	}
	s.out.Documents = append(s.out.Documents, documentResult{Name: d.name, ID: id, Status: status, Chunks: chunks, Error: why})
	switch status {
	case client.DatasourceStatusError:
		s.fail(d.name, id, why)
	case client.DatasourceStatusSkipped:
		s.skip(d.name, why)
	default:
		s.out.Synched++
		s.deleteOldVersions(d, id)
	}
	if d.kind == client.DatasourceTypeWebSite || strings.EqualFold(filepath.Ext(d.path), archiveExtension) {
		s.addTask(s.requestPartsResult(d, len(s.out.Documents)-1))
	}
}

// deleteOldVersions deletes older versions of a document that has become searchable.
func (s *upload) deleteOldVersions(d *document, id string) {
	for _, old := range s.stale[id] {
		s.addTask(s.delete(d, old))
	}
	delete(s.stale, id)
}

func (s *upload) delete(d *document, id string) task {
	return func(ctx context.Context) func() error {
		err := s.client.DeleteDatasource(ctx, id)
		return func() error {
			if err != nil && client.CodeOf(err) != client.CodeNotFound {
				return fmt.Errorf("deleting an old version of %s: %w", d.name, err)
			}
			s.stored.remove(d, id)
			s.out.Deleted++
			return nil
		}
	}
}

// requestPartsResult requests the outcome for a site's pages or an archive's files. `n` is the document's index in
// s.out.Documents.
func (s *upload) requestPartsResult(doc *document, n int) task {
	id := s.out.Documents[n].ID
	return func(ctx context.Context) func() error {
		d, err := s.client.GetDatasource(ctx, id)
		return func() error {
			if err != nil || d.Crawl == nil {
				return err
			}
			s.out.Documents[n].Crawl = d.Crawl
			if d.Type == client.DatasourceTypeArchive {
				s.stored.put(doc, storedDocumentOf(*d))
				s.showArchive(doc, d)
				return nil
			}
			s.show.printLine(fmt.Sprintf("%s: %s, %d failed, %d skipped by rules", oneLine(doc.name), Counted(d.Crawl.Discovered, "page"),
				d.Crawl.Failed, d.Crawl.Skipped))
			return nil
		}
	}
}

// showArchive prints the result of reading an archive.
func (s *upload) showArchive(doc *document, d *client.Datasource) {
	c := d.Crawl
	s.show.printLine(fmt.Sprintf("%s: %s, %d failed, %d unchanged, %d removed", oneLine(doc.name), Counted(c.Discovered, "file"), c.Failed, c.Unchanged, c.Removed))
	for _, w := range d.Warnings {
		s.out.Warnings = append(s.out.Warnings, warning{doc.name, d.Id, w})
		s.show.printLine(fmt.Sprintf("warning: %s: %s", oneLine(doc.name), oneLine(w)))
	}
}
