package loadtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/sluice/sluice/pkg/eval/service"
)

// Item is a document to upload: a file if it has a file name, otherwise plain text.
type Item struct {
	FileName string
	Content  []byte
}

// Uploads uploads items and waits for each to become searchable. The caller must close it.
type Uploads struct {
	service   *service.Service
	datastore string
	item      func(n int) Item

	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	failed  error             // why watching ended
	settled map[string]result // by datasource id; results no request is waiting for yet
	waiting map[string]chan<- result
}

// result is the outcome of processing a datasource. err is nil if it succeeded.
type result struct{ err error }

// NewUploads returns an Uploads for the datastore and starts watching it. `item` returns item number n, counted from 0.
func NewUploads(ctx context.Context, s *service.Service, datastoreID string, item func(n int) Item) (*Uploads, error) {
	ctx, stop := context.WithCancel(ctx)
	follow, err := s.Watch(ctx, datastoreID)
	if err != nil {
		stop()
		return nil, fmt.Errorf("watching the datastore: %w", err)
	}
	u := &Uploads{
		service: s, datastore: datastoreID, item: item, stop: stop, done: make(chan struct{}),
		settled: map[string]result{}, waiting: map[string]chan<- result{},
	}
	go func() {
		defer close(u.done)
		u.end(follow(u.handleEvent))
	}()
	return u, nil
}

// Close stops watching.
func (u *Uploads) Close() {
	u.stop()
	<-u.done
}

func (u *Uploads) handleEvent(d service.Datasource) error {
	var r result
	switch d.Status {
	case "synched":
	case "error":
		r.err = fmt.Errorf("a document could not be processed: %s", d.Error)
	default:
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if w := u.waiting[d.ID]; w != nil {
		delete(u.waiting, d.ID)
		w <- r // does not block: w has room for one result
	} else {
		u.settled[d.ID] = r
	}
	return nil
}

// end notifies all waiting requests that the watch has ended.
func (u *Uploads) end(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failed = fmt.Errorf("watching the datastore: %w", err)
	for id, w := range u.waiting {
		delete(u.waiting, id)
		w <- result{u.failed}
	}
}

// Request uploads item number n and returns once it is searchable. It records in `take` when the service accepted the
// item and when it became searchable.
func (u *Uploads) Request(ctx context.Context, n int, take *Times) error {
	id, err := u.send(ctx, n)
	if err != nil {
		return err
	}
	take.Since("accepted")
	settled := make(chan result, 1)
	u.waitFor(id, settled)
	select {
	case r := <-settled:
		if r.err == nil {
			take.Since("searchable")
		}
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *Uploads) send(ctx context.Context, n int) (id string, err error) {
	item := u.item(n)
	if item.FileName != "" {
		made, err := u.service.Upload(ctx, u.datastore, item.FileName, item.Content)
		return made.ID, err
	}
	name := fmt.Sprintf("load-%d", n)
	ids, err := u.service.Upsert(ctx, u.datastore, []service.Document{{CustomID: name, Name: name, Text: string(item.Content)}})
	if err == nil && len(ids) != 1 {
		err = fmt.Errorf("the service returned %d ids for one document", len(ids))
	}
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// waitFor arranges for the datasource's result to be sent to `settled` as soon as the result is known. The channel must
// have a buffer for one result.
func (u *Uploads) waitFor(id string, settled chan<- result) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r, already := u.settled[id]; already {
		delete(u.settled, id)
		settled <- r
		return
	}
	if u.failed != nil {
		settled <- result{u.failed}
		return
	}
	u.waiting[id] = settled
}
