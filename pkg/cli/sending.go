package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
)

const (
	drawEvery     = 200 * time.Millisecond
	silentTooLong = 30 * time.Second // without news of what is waited for: then it is asked for
	askSingly     = 50               // datasources at most; more are listed
	chorers       = 4
)

// failure is a document that could not be taken in.
type failure struct {
	Name  string `json:"name"`
	ID    string `json:"id,omitempty"`
	Error string `json:"error"`
}

// taken is a document that was sent in this run, or waited for.
type taken struct {
	Name   string                  `json:"name"`
	ID     string                  `json:"id"`
	Status client.DatasourceStatus `json:"status"`
	Chunks int64                   `json:"chunks"`
	Error  string                  `json:"error,omitempty"`
	Crawl  *client.CrawlProgress   `json:"crawl,omitempty"` // of a web site
}

// outcome is what became of a run.
type outcome struct {
	Datastore struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"datastore"`
	Found     int64     `json:"found"`     // documents
	Unchanged int64     `json:"unchanged"` // are there as they are
	Sent      int64     `json:"sent"`      // by this run
	Synched   int64     `json:"synched"`   // of what was sent or waited for
	Failed    int64     `json:"failed"`
	Deleted   int64     `json:"deleted"` // that are gone, and old versions
	LeftOut   int64     `json:"leftOut"`
	Documents []taken   `json:"documents"` // that were sent or waited for
	Failures  []failure `json:"failures"`
	Left      []failure `json:"left"` // what was left out, and why
}

// sending brings documents into a datastore and waits until they can be found. It may run again and again; what it has
// brought in it does not send again.
type sending struct {
	client   *client.Client
	library  *library
	storeID  string
	parallel int
	wait     bool
	retry    bool // web content is fetched again
	show     display
	out      outcome

	waiting map[string]*document               // by the id of their datasource
	early   map[string]*client.DatasourceEvent // ends of datasources that nobody waits for yet
	unsure  map[string]bool                    // those of which news may be older than what was sent
	stale   map[string][]string                // old versions that go when the new one can be found, by its id
	chores  []chore
	heard   time.Time
}

// chore is work beside the run; what it returns is done in the run.
type chore func(context.Context) func() error

// sent is what became of a document when it was sent.
type sent struct {
	doc    *document
	kept   kept
	did    bool // it was sent, or is processed again
	known  bool // its datasource was there before: news of it may be old
	done   bool // nothing is to be waited for
	others []kept
	err    error
}

// run takes in the documents of units, each of which is sent at once.
func (s *sending) run(ctx context.Context, units iter.Seq2[[]*document, error]) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	s.waiting, s.early, s.unsure = map[string]*document{}, map[string]*client.DatasourceEvent{}, map[string]bool{}
	s.stale, s.chores, s.heard = map[string][]string{}, nil, time.Now()

	news := make(chan client.Change, 64)
	if s.wait {
		all.Go(func() { s.listen(ctx, news) })
	}
	results, produced := make(chan []sent), make(chan error, 1)
	all.Go(func() { produced <- s.produce(ctx, units, results) })
	work, worked := make(chan chore), make(chan func() error)
	for range chorers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case do := <-work:
					select {
					case worked <- do(ctx):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	busy, producing := 0, true
	for producing || len(s.chores) > 0 || busy > 0 || s.wait && len(s.waiting) > 0 {
		var next chore
		var give chan chore
		if len(s.chores) > 0 {
			next, give = s.chores[0], work
		}
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case batch := <-results:
			for _, r := range batch {
				s.took(r)
			}
		case err = <-produced:
			producing, produced = false, nil
			s.later(s.askForAll)
		case give <- next:
			s.chores = s.chores[1:]
			busy++
		case finish := <-worked:
			busy--
			err = finish()
		case change := <-news:
			s.hear(change)
		case <-tick.C:
			s.draw()
			if !producing && time.Since(s.heard) > silentTooLong {
				s.heard = time.Now()
				s.later(s.askForAll)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sending) later(do chore) { s.chores = append(s.chores, do) }

// produce sends unit after unit, several at once.
func (s *sending) produce(ctx context.Context, units iter.Seq2[[]*document, error], results chan<- []sent) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(s.parallel)
	for unit, err := range units {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		if within.Err() != nil {
			break
		}
		g.Go(func() error {
			batch, err := s.send(within, unit, "")
			select {
			case results <- batch:
			case <-ctx.Done():
			}
			return err
		})
	}
	return g.Wait()
}

// send sends what is not there yet. An error is one that ends the run; that of a single document is in its sent. salt makes the request
// another one.
func (s *sending) send(ctx context.Context, unit []*document, salt string) ([]sent, error) {
	var batch []sent
	var texts []*document
	for _, d := range unit {
		if err := d.read(); err != nil {
			batch = append(batch, sent{doc: d, err: err})
			continue
		}
		same, others := s.library.find(d)
		switch {
		case same != nil && same.status == client.DatasourceStatusError, same != nil && s.retry && d.create != nil:
			batch = append(batch, s.again(ctx, d, *same, others))
		case same != nil:
			batch = append(batch, sent{doc: d, kept: *same, others: others, known: true, done: isEnd(same.status)})
		case d.kind == client.DatasourceTypeText:
			texts = append(texts, d)
		default:
			made, err := s.create(ctx, d, others, salt)
			r := sent{doc: d, did: true, others: others, err: err}
			if made != nil {
				r.kept = keptOf(*made)
			}
			batch = append(batch, r)
		}
		if n := len(batch); n > 0 && endsRun(batch[n-1].err) {
			return batch, batch[n-1].err
		}
	}
	upserted, err := s.upsert(ctx, texts)
	return append(batch, upserted...), err
}

func isEnd(status client.DatasourceStatus) bool {
	return status == client.DatasourceStatusSynched || status == client.DatasourceStatusError || status == client.DatasourceStatusSkipped
}

// endsRun reports whether an error is about the service or the key, rather than about a document.
func endsRun(err error) bool {
	if err == nil {
		return false
	}
	var refused *client.Error
	if errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
			return false
		default:
			return true
		}
	}
	var local *os.PathError
	return !errors.As(err, &local)
}

// again has what failed before processed once more.
func (s *sending) again(ctx context.Context, d *document, k kept, others []kept) sent {
	mode := client.ResyncModeReindex
	if d.create != nil {
		mode = client.ResyncModeRefresh
	}
	_, err := s.client.ResyncDatasource(ctx, k.id, mode)
	return sent{doc: d, kept: k, did: true, known: true, others: others, err: err}
}

// create hands in a file, a page or a site. The key of the request is the same in every run until the datastore has changed: a run that
// was killed before it had the answer does not do it twice.
func (s *sending) create(ctx context.Context, d *document, others []kept, salt string) (*client.Datasource, error) {
	ids := make([]string, len(others))
	for i, k := range others {
		ids[i] = k.id
	}
	slices.Sort(ids)
	ctx = client.WithIdempotencyKey(ctx, digestOf("create", s.storeID, string(d.kind), d.key, d.digest, d.metadata, d.create, ids, salt))
	if d.create != nil {
		create := *d.create
		create.DatastoreId = s.storeID
		return s.client.CreateDatasource(ctx, create)
	}
	f, err := os.Open(d.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.client.Upload(ctx, s.storeID, client.File{Name: filepath.Base(d.path), Content: f, CustomID: d.key, Metadata: d.metadata})
}

// digestOf is a digest of what is written in JSON.
func digestOf(parts ...any) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(parts) // all of it came from JSON, or are strings
	return hex.EncodeToString(h.Sum(nil))
}

// upsert hands in texts, at once or, where the service refuses them, one by one to find the one that is wrong.
func (s *sending) upsert(ctx context.Context, docs []*document) ([]sent, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	texts := make([]client.Document, len(docs))
	for i, d := range docs {
		texts[i] = *d.text
	}
	ids, err := s.client.UpsertDocuments(ctx, s.storeID, texts...)
	var batch []sent
	switch {
	case err == nil && len(ids) != len(docs):
		return nil, fmt.Errorf("the service answered with %d ids for %d documents", len(ids), len(docs))
	case err == nil:
		for i, d := range docs {
			_, others := s.library.find(d)
			known := slices.ContainsFunc(others, func(k kept) bool { return k.id == ids[i] })
			others = slices.DeleteFunc(others, func(k kept) bool { return k.id == ids[i] })
			batch = append(batch, sent{doc: d, did: true, known: known, others: others, kept: kept{
				id: ids[i], name: valueOf(d.text.Name), digest: d.digest, status: client.DatasourceStatusUnsynched, metadata: d.allMetadata(),
			}})
		}
	case endsRun(err):
		return nil, err
	case len(docs) == 1:
		batch = append(batch, sent{doc: docs[0], err: err})
	default:
		for _, d := range docs {
			one, err := s.upsert(ctx, []*document{d})
			if batch = append(batch, one...); err != nil {
				return batch, err
			}
		}
	}
	return batch, nil
}

// allMetadata is the metadata of a text as the service has it.
func (d *document) allMetadata() map[string]any {
	all := map[string]any{}
	if text, err := json.Marshal(d.text.Metadata); err == nil {
		_ = json.Unmarshal(text, &all) // it was written a line above
	}
	return all
}

// read reads what tells the document's content from another.
func (d *document) read() error {
	if d.path == "" || d.digest != "" {
		return nil
	}
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	d.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

// took notes what became of a document when it was sent.
func (s *sending) took(r sent) {
	if endsRun(r.err) {
		return // the run says why
	}
	s.out.Found++
	s.heard = time.Now()
	if r.err != nil {
		s.refused(r.doc, r.err)
		return
	}
	s.library.put(r.doc, r.kept)
	if r.did {
		s.out.Sent++
	} else {
		s.out.Unchanged++
	}
	id := r.kept.id
	for _, k := range r.others {
		s.stale[id] = append(s.stale[id], k.id)
	}
	if r.done { // it was there, whatever became of it
		s.clear(r.doc, id)
		return
	}
	if !s.wait {
		return
	}
	s.waiting[id] = r.doc
	if r.known {
		s.unsure[id] = true
		s.later(s.askFor(id))
	} else if end := s.early[id]; end != nil {
		s.settle(id, end.Status, end.Chunks, valueOf(end.Error))
	}
	delete(s.early, id)
}

// refused notes a document that the service would not have, or that could not be read.
func (s *sending) refused(d *document, err error) {
	var refused *client.Error
	why := err.Error()
	if errors.As(err, &refused) {
		why = refused.Error()
		if d.found && refused.Status == http.StatusUnsupportedMediaType {
			s.leave(d.name, cmp.Or(refused.Message, why))
			return
		}
	}
	s.fail(d.name, "", why)
}

func (s *sending) fail(name, id, why string) {
	s.out.Failed++
	s.out.Failures = append(s.out.Failures, failure{name, id, why})
	s.show.note(fmt.Sprintf("failed: %s: %s", line(name), line(why)))
}

func (s *sending) leave(name, why string) {
	s.out.LeftOut++
	s.out.Left = append(s.out.Left, failure{Name: name, Error: why})
}

// listen passes on news of the datastore, and watches again when the stream breaks.
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

// hear takes in news of a datasource.
func (s *sending) hear(change client.Change) {
	s.heard = time.Now()
	switch e := change.Datasource; {
	case e == nil && change.DeletedID == "":
		s.later(s.askForAll)
	case e == nil || !isEnd(e.Status):
	case s.waiting[e.Id] != nil:
		if s.unsure[e.Id] { // it may be news of the version before
			s.later(s.askFor(e.Id))
			return
		}
		s.settle(e.Id, e.Status, e.Chunks, valueOf(e.Error))
	case e.GroupId == nil:
		s.early[e.Id] = e
	}
}

// askFor looks at a datasource that is waited for.
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

// askForAll looks at everything that is waited for.
func (s *sending) askForAll(ctx context.Context) func() error {
	// It is called beside the run, so the run's own part is what it returns.
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
				for id := range wanted { // the list does not have them: are they gone?
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

// vanished sends a document once more whose datasource is gone: the service may have told of one that was deleted since it was
// first sent.
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

// settle notes how the processing of a datasource has ended.
func (s *sending) settle(id string, status client.DatasourceStatus, chunks int64, why string) {
	d := s.waiting[id]
	if d == nil {
		return
	}
	delete(s.waiting, id)
	delete(s.unsure, id)
	s.library.put(d, kept{id: id, digest: d.digest, status: status, chunks: chunks, err: why, name: d.name, metadata: d.metadata})
	if d.kind == client.DatasourceTypeText {
		s.library.put(d, kept{id: id, digest: d.digest, status: status, chunks: chunks, err: why, name: valueOf(d.text.Name), metadata: d.allMetadata()})
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

// clear deletes older versions of what can be found now.
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

// tellSite says what became of a site's pages.
func (s *sending) tellSite(n int) chore {
	site := s.out.Documents[n].ID
	return func(ctx context.Context) func() error {
		d, err := s.client.GetDatasource(ctx, site)
		return func() error {
			if err != nil || d.Crawl == nil {
				return err
			}
			s.out.Documents[n].Crawl = d.Crawl
			s.show.note(fmt.Sprintf("%s: %s, %d failed, %d left out on purpose", line(s.out.Documents[n].Name), counted(d.Crawl.Discovered, "page"),
				d.Crawl.Failed, d.Crawl.Skipped))
			return nil
		}
	}
}

// draw shows how far it is.
func (s *sending) draw() {
	done := s.out.Found - int64(len(s.waiting))
	s.show.draw(done, s.out.Found, s.out.words())
}

// words say what has become of the documents so far.
func (o *outcome) words() string {
	text := fmt.Sprintf("%s: %d searchable", counted(o.Found, "document"), o.Synched+o.Unchanged)
	for _, part := range []struct {
		n    int64
		what string
	}{{o.Sent, "sent"}, {o.Unchanged, "unchanged"}, {o.Deleted, "deleted"}, {o.LeftOut, "left out"}, {o.Failed, "failed"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

// writeFailures lists what has failed, as far as it is known, of so many.
func writeFailures(w io.Writer, failures []failure, total int) {
	for _, f := range failures {
		fmt.Fprintf(w, "  failed: %s: %s\n", line(f.Name), line(f.Error))
	}
	if rest := total - len(failures); rest > 0 {
		fmt.Fprintf(w, "  … and %d more\n", rest)
	}
}
