// Package load writes, updates and deletes documents over the REST API and records which of these changes were
// acknowledged. A document's name and version determine its content, so that it can be checked later.
package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
)

const (
	workers      = 4
	maxDocuments = 24 // existing documents per worker
	maxBatch     = 3  // texts per request
	// Pause between a worker's requests, to leave CPU time for checking images.
	pace = 15 * time.Millisecond
)

// Run creates a datastore and changes documents in it until ctx is done. It returns an error if the service rejects a
// request before then.
func Run(ctx context.Context, c *client.Client, l *Ledger, seed uint64) error {
	store, err := c.CreateDatastore(ctx, client.DatastoreCreate{Name: "powerloss"})
	if err != nil {
		return unlessEnded(ctx, fmt.Errorf("creating a datastore: %w", err))
	}
	l.created(store.Id)
	all, ctx := errgroup.WithContext(ctx)
	for n := range workers {
		w := &worker{client: c, ledger: l, store: store.Id, number: n, random: rand.New(rand.NewPCG(seed, uint64(n)))}
		all.Go(func() error { return w.run(ctx) })
	}
	return all.Wait()
}

// unlessEnded returns err, or nil if ctx is done, because then the request was merely interrupted.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// worker changes its own documents, one request at a time.
type worker struct {
	client *client.Client
	ledger *Ledger
	store  string
	number int
	random *rand.Rand

	created       int      // documents created so far
	exist, absent []change // in their acknowledged states
}

func (w *worker) run(ctx context.Context) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		if err := w.step(ctx); err != nil {
			return unlessEnded(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// step makes a random request.
func (w *worker) step(ctx context.Context) error {
	dice := w.random.IntN(100)
	switch full := len(w.exist) >= maxDocuments; {
	case len(w.exist) == 0 || !full && dice < 40:
		return w.write(ctx)
	case !full && dice < 50:
		return w.upload(ctx)
	case dice < 75:
		return w.update(ctx)
	default:
		return w.delete(ctx)
	}
}

// newName returns an unused name.
func (w *worker) newName(isFile bool) Name {
	kind := "text"
	if isFile {
		kind = "file"
	}
	w.created++
	return Name{CustomID: fmt.Sprintf("%s-%d-%d", kind, w.number, w.created), IsFile: isFile}
}

// take removes a random document from a list and returns it.
func (w *worker) take(from *[]change) change {
	i, last := w.random.IntN(len(*from)), len(*from)-1
	taken := (*from)[i]
	(*from)[i] = (*from)[last]
	*from = (*from)[:last]
	return taken
}

// write upserts a batch of new texts, new versions of existing ones, and previously deleted ones.
func (w *worker) write(ctx context.Context) error {
	var changes []change
	for range 1 + w.random.IntN(maxBatch) {
		var c change
		switch dice := w.random.IntN(8); {
		case dice == 0 && len(w.absent) > 0:
			c = w.take(&w.absent)
		case dice == 1 && len(w.exist) > 0:
			c = w.take(&w.exist)
		default:
			c.name = w.newName(false)
		}
		if c.name.IsFile { // uploads don't replace files
			if c.to.Gone {
				w.absent = append(w.absent, c)
			} else {
				w.exist = append(w.exist, c)
			}
			continue
		}
		changes = append(changes, change{c.name, State{Version: c.to.Version + 1}})
	}
	if len(changes) == 0 {
		return nil
	}
	documents := make([]client.Document, len(changes))
	for i, c := range changes {
		documents[i] = client.Document{CustomId: &c.name.CustomID, Name: &c.name.CustomID, Text: c.name.Content(c.to.Version)}
	}
	return w.make(ctx, func() ([]string, error) { return w.client.UpsertDocuments(ctx, w.store, documents...) }, changes...)
}

func (w *worker) upload(ctx context.Context) error {
	c := change{w.newName(true), State{Version: 1}}
	file := client.File{Name: c.name.CustomID + ".txt", CustomID: c.name.CustomID, Content: strings.NewReader(c.name.Content(1))}
	return w.make(ctx, func() ([]string, error) {
		d, err := w.client.Upload(ctx, w.store, file)
		if err != nil {
			return nil, err
		}
		return []string{d.Id}, nil
	}, c)
}

// update replaces the content of a random text. It ignores files, because they can't be updated.
func (w *worker) update(ctx context.Context) error {
	c := w.take(&w.exist)
	if c.name.IsFile {
		w.exist = append(w.exist, c)
		return nil
	}
	c.to.Version++
	id := w.ledger.idOf(c.name)
	return w.make(ctx, func() ([]string, error) {
		return []string{id}, w.client.UpdateDocument(ctx, w.store, client.UpdateRequest{Id: id, Text: c.name.Content(c.to.Version)})
	}, c)
}

func (w *worker) delete(ctx context.Context) error {
	c := w.take(&w.exist)
	c.to.Gone = true
	id := w.ledger.idOf(c.name)
	return w.make(ctx, func() ([]string, error) { return []string{""}, w.client.DeleteDatasource(ctx, id) }, c)
}

// make calls `request`, which sends the changes and returns the documents' datasource ids. It records the changes
// before they are sent, and again once they are acknowledged.
func (w *worker) make(ctx context.Context, request func() ([]string, error), changes ...change) error {
	w.ledger.send(changes...)
	ids, err := request()
	if err == nil && len(ids) != len(changes) {
		err = errors.New("the response has another number of ids than the request has documents")
	}
	if err != nil {
		return fmt.Errorf("changing %s to %s: %w", changes[0].name.CustomID, changes[0].to, err)
	}
	w.ledger.acknowledge(ids, changes...)
	for _, c := range changes {
		if c.to.Exists() {
			w.exist = append(w.exist, c)
		} else {
			w.absent = append(w.absent, c)
		}
	}
	return nil
}
