package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
)

const (
	drawInterval = 200 * time.Millisecond
	eventTimeout = 30 * time.Second // how long to wait for events before requesting the state of pending datasources
	taskWorkers  = 4
)

// upload adds documents to a datastore and waits until they are searchable. It can be rerun safely, because it doesn't
// send documents that are already stored.
type upload struct {
	client   *client.Client
	stored   *storedDocuments
	storeID  string
	parallel int
	wait     bool
	retry    bool // whether to refetch web content
	show     display
	out      outcome

	waiting       map[string]*document               // documents to wait for, by datasource id
	earlyEvents   map[string]*client.DatasourceEvent // final events that arrived before the run waited for their datasources
	possiblyStale map[string]bool                    // datasources whose next events may concern the previous version
	stale         map[string][]string                // old versions to delete once the new one is searchable, by the new one's id
	tasks         []task
	lastEvent     time.Time
}

// task is work that runs concurrently with the main loop in upload.run. The main loop then calls the function that the
// task returns.
type task func(context.Context) func() error

// run adds all documents to the datastore. Each unit's documents are sent together.
func (s *upload) run(ctx context.Context, units iter.Seq2[[]*document, error]) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	s.waiting, s.earlyEvents, s.possiblyStale = map[string]*document{}, map[string]*client.DatasourceEvent{}, map[string]bool{}
	s.stale, s.tasks, s.lastEvent = map[string][]string{}, nil, time.Now()

	news := make(chan client.Change, 64)
	if s.wait {
		all.Go(func() { s.listen(ctx, news) })
	}
	results, produced := make(chan []uploadResult), make(chan error, 1)
	all.Go(func() { produced <- s.produce(ctx, units, results) })
	work, worked := make(chan task), make(chan func() error)
	for range taskWorkers {
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
	tick := time.NewTicker(drawInterval)
	defer tick.Stop()
	busy, producing := 0, true
	for producing || len(s.tasks) > 0 || busy > 0 || s.wait && len(s.waiting) > 0 {
		var next task
		var give chan task
		if len(s.tasks) > 0 {
			next, give = s.tasks[0], work
		}
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case batch := <-results:
			for _, r := range batch {
				s.recordSent(r)
			}
		case err = <-produced:
			producing, produced = false, nil
			s.addTask(s.requestAllStates)
		case give <- next:
			s.tasks = s.tasks[1:]
			busy++
		case finish := <-worked:
			busy--
			err = finish()
		case change := <-news:
			s.handleChange(change)
		case <-tick.C:
			s.draw()
			if !producing && time.Since(s.lastEvent) > eventTimeout {
				s.lastEvent = time.Now()
				s.addTask(s.requestAllStates)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *upload) addTask(do task) { s.tasks = append(s.tasks, do) }

// produce sends several units at a time.
func (s *upload) produce(ctx context.Context, units iter.Seq2[[]*document, error], results chan<- []uploadResult) error {
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
			for _, d := range unit {
				if d.drop != nil {
					d.drop()
				}
			}
			select {
			case results <- batch:
			case <-ctx.Done():
			}
			return err
		})
	}
	return g.Wait()
}

// recordSent records the result of sending a document.
func (s *upload) recordSent(r uploadResult) {
	if isFatal(r.err) {
		return // run returns the error
	}
	s.out.Found++
	s.lastEvent = time.Now()
	if r.err != nil {
		s.refused(r.doc, r.err)
		return
	}
	if len(r.warnings) > 0 {
		s.out.Warnings = append(s.out.Warnings, warning{r.doc.name, r.stored.id, listed(r.warnings)})
		s.show.printLine(fmt.Sprintf("warning: %s: %s", oneLine(r.doc.name), oneLine(listed(r.warnings))))
	}
	s.stored.put(r.doc, r.stored)
	if r.processed {
		s.out.Sent++
	} else {
		s.out.Unchanged++
	}
	id := r.stored.id
	for _, k := range r.others {
		s.stale[id] = append(s.stale[id], k.id)
	}
	if r.finished { // already stored and processed
		s.out.alreadyProcessed++
		s.deleteOldVersions(r.doc, id)
		return
	}
	if !s.wait {
		return
	}
	s.waiting[id] = r.doc
	if r.known {
		s.possiblyStale[id] = true
		s.addTask(s.requestState(id))
	} else if end := s.earlyEvents[id]; end != nil {
		s.finish(id, end.Status, end.Chunks, valueOf(end.Error))
	}
	delete(s.earlyEvents, id)
}

// refused records a document that couldn't be read or that the service rejected.
func (s *upload) refused(d *document, err error) {
	var refused *client.Error
	var unusable *errUnusable
	why := err.Error()
	if errors.As(err, &unusable) && unusable.left {
		s.skip(d.name, why)
		return
	}
	if errors.As(err, &refused) {
		why = refused.Error()
		if d.found && refused.Status == http.StatusUnsupportedMediaType {
			s.skip(d.name, cmp.Or(refused.Message, why))
			return
		}
	}
	s.fail(d.name, "", why)
}

func (s *upload) fail(name, id, why string) {
	s.out.Failed++
	s.out.Failures = append(s.out.Failures, failure{name, id, why})
	s.show.printLine(fmt.Sprintf("failed: %s: %s", oneLine(name), oneLine(why)))
}

func (s *upload) skip(name, why string) {
	s.out.LeftOut++
	s.out.Left = append(s.out.Left, failure{Name: name, Error: why})
}

func (s *upload) draw() {
	done := s.out.Found - int64(len(s.waiting))
	s.show.draw(done, s.out.Found, s.out.summary())
}
