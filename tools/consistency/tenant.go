package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/tools/consistency/model"
)

const (
	attemptTimeout = 8 * time.Second        // per attempt
	firstPause     = 100 * time.Millisecond // after a failed attempt; doubles up to maxPause
	maxPause       = 2 * time.Second
)

// tenant is a workspace with its datastores and the documents that the run has written there.
type tenant struct {
	number  int
	clients []*client.Client // one per api process, with the tenant's key
	stores  []string         // ids of the datastores

	mu        sync.Mutex
	documents []*model.Document
	byTag     map[model.Tag]*model.Document
}

// newTenant connects to the api processes with a workspace's key.
func newTenant(number int, urls []string, key string) (*tenant, error) {
	t := &tenant{number: number, byTag: map[model.Tag]*model.Document{}}
	for _, u := range urls {
		// settle retries requests itself and cycles through the api processes, so turn off the client's own retries.
		c, err := client.New(u, key, client.WithAttempts(1), client.WithUserAgent("sluice-consistency"))
		if err != nil {
			return nil, err
		}
		t.clients = append(t.clients, c)
	}
	return t, nil
}

// createStores creates the tenant's datastores.
func (t *tenant) createStores(ctx context.Context, n int, run string) error {
	for i := range n {
		var made *client.Datastore
		err := t.settleOnce(ctx, rand.New(rand.NewPCG(0, uint64(i))), func(ctx context.Context, c *client.Client) (err error) {
			made, err = c.CreateDatastore(ctx, client.DatastoreCreate{Name: fmt.Sprintf("consistency %s t%d d%d", run, t.number, i)})
			return err
		})
		if err != nil {
			return fmt.Errorf("creating a datastore of tenant %d: %w", t.number, err)
		}
		t.stores = append(t.stores, made.Id)
	}
	return nil
}

// deleteStores deletes the tenant's datastores with all their content.
func (t *tenant) deleteStores(ctx context.Context) error {
	var faults []error
	for _, id := range t.stores {
		_, err := t.settle(ctx, rand.New(rand.NewPCG(0, 0)), func(ctx context.Context, c *client.Client) error {
			err := c.DeleteDatastore(ctx, id)
			if client.CodeOf(err) == client.CodeNotFound {
				return nil // deleted by an attempt whose answer was lost
			}
			return err
		})
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// add registers a new document.
func (t *tenant) add(store int) *model.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := model.New(model.Tag{Tenant: t.number, Store: store, Number: len(t.documents)})
	t.documents = append(t.documents, d)
	t.byTag[d.Tag] = d
	return d
}

// document returns the document with this tag, or nil.
func (t *tenant) document(tag model.Tag) *model.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byTag[tag]
}

// any returns a random document, preferably from the newest half, or nil if there are none.
func (t *tenant) any(random *rand.Rand) *model.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.documents)
	if n == 0 {
		return nil
	}
	if random.IntN(2) == 0 {
		return t.documents[n-1-random.IntN((n+1)/2)]
	}
	return t.documents[random.IntN(n)]
}

func (t *tenant) all() []*model.Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]*model.Document(nil), t.documents...)
}

// settleOnce retries a POST until there is a final answer or the context is done. The Idempotency-Key stays the same,
// so the POST takes effect only once.
func (t *tenant) settleOnce(ctx context.Context, random *rand.Rand, do func(context.Context, *client.Client) error) error {
	_, err := t.settle(client.WithIdempotencyKey(ctx, uuid.NewString()), random, do)
	return err
}

// settle retries a request, cycling through the api processes, until there is a final answer or the context is done. It
// returns how many failed attempts may have had an effect.
func (t *tenant) settle(ctx context.Context, random *rand.Rand, do func(context.Context, *client.Client) error) (tried int, err error) {
	first := random.IntN(len(t.clients))
	pause := firstPause
	for n := 0; ; n++ {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err = do(attempt, t.clients[(first+n)%len(t.clients)])
		cancel()
		if err == nil || !mayPass(err) {
			return tried, err
		}
		if !isUnsent(err) {
			tried++
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return tried, err
		case <-timer.C:
		}
		pause = min(2*pause, maxPause)
	}
}

func (t *tenant) once(ctx context.Context, random *rand.Rand, timeout time.Duration, do func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return do(ctx, t.clients[random.IntN(len(t.clients))])
}

// mayPass reports whether retrying a request that failed with err may succeed: there was no answer, or the service was
// unavailable.
func mayPass(err error) bool {
	refused, answered := errors.AsType[*client.Error](err)
	if !answered {
		return true
	}
	switch refused.Status {
	case 429, 500, 502, 503, 504:
		return true
	case 409:
		return refused.RetryAfter > 0 // an earlier attempt is still in progress
	}
	return false
}

// isUnsent reports whether a request failed before a connection was established.
func isUnsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func isNotFound(err error) bool { return client.CodeOf(err) == client.CodeNotFound }

// Workload requests.

func (t *tenant) upsert(ctx context.Context, c *client.Client, store int, batch []write) ([]string, error) {
	documents := make([]client.Document, len(batch))
	for i, w := range batch {
		customID, name := w.document.Tag.String(), w.document.Tag.String()+".txt"
		documents[i] = client.Document{
			CustomId: &customID, Name: &name, Text: model.Text(w.document.Tag, w.version),
			Metadata: &client.Document_Metadata{AdditionalProperties: metadata(w.version)},
		}
	}
	return c.UpsertDocuments(ctx, t.stores[store], documents...)
}

func (t *tenant) update(ctx context.Context, c *client.Client, id string, w write) error {
	return c.UpdateDocument(ctx, t.stores[w.document.Tag.Store], client.UpdateRequest{
		Id: id, Text: model.Text(w.document.Tag, w.version), Metadata: &client.UpdateRequest_Metadata{AdditionalProperties: metadata(w.version)},
	})
}

func (t *tenant) upload(ctx context.Context, c *client.Client, w write) (string, error) {
	made, err := c.Upload(ctx, t.stores[w.document.Tag.Store], client.File{
		Name: w.document.Tag.String() + ".txt", CustomID: w.document.Tag.String(), Metadata: metadata(w.version),
		Content: strings.NewReader(model.Text(w.document.Tag, w.version)),
	})
	if err != nil {
		return "", err
	}
	return made.Id, nil
}

// versionField is the metadata field with a document's version. A datasource thus shows which version was accepted
// last.
const versionField = "version"

func metadata(version int) map[string]any { return map[string]any{versionField: version} }

// versionOf returns the version in a datasource's metadata, or 0.
func versionOf(d *client.Datasource) int {
	n, _ := d.Metadata[versionField].(float64)
	return int(n)
}

func chunksOf(ctx context.Context, c *client.Client, id string) (texts []string, err error) {
	for chunk, err := range c.ListChunks(ctx, id) {
		if err != nil {
			return nil, err
		}
		texts = append(texts, chunk.Text)
	}
	return texts, nil
}

// Maximum number of bytes to read from an original. This program's uploads are shorter.
const maxOriginal = 1 << 20

func originalOf(ctx context.Context, c *client.Client, id string) (string, error) {
	o, err := c.GetOriginal(ctx, id)
	if err != nil {
		return "", err
	}
	defer o.Close()
	b, err := io.ReadAll(io.LimitReader(o, maxOriginal))
	return string(b), err
}

func (t *tenant) query(ctx context.Context, c *client.Client, store int, text string, filter *client.Filters) ([]client.Fragment, error) {
	top := maxFragments
	return c.QueryDatastore(ctx, t.stores[store], client.DatastoreQuery{Query: text, TopK: &top, Filters: filter})
}

// Number of fragments per query. No text has more chunks than that.
const maxFragments = 20
