package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/tools/consistency/model"
)

// write is a new version of a document.
type write struct {
	document *model.Document
	op       *model.Op
	version  int
}

// worker writes its own documents, one request at a time, and reads all of its tenant's documents. The seed determines
// all its choices.
type worker struct {
	*run
	tenant *tenant
	name   string
	random *rand.Rand
	own    []*model.Document
	// loose holds documents whose last write may or may not have happened. Their ids are unknown until a write is
	// answered, so until then they can't be deleted or updated by id.
	loose map[*model.Document]bool
}

const (
	ownDocuments = 40                     // per worker
	maxBatch     = 8                      // documents per upsert
	maxHaste     = 500 * time.Millisecond // time limits for a write that is not retried
	minHaste     = 5 * time.Millisecond
)

// work makes requests until ctx is done. A request in progress may continue after that, until `settling` is done.
func (w *worker) work(ctx, settling context.Context) {
	type action struct {
		weight int
		do     func(context.Context)
	}
	actions := []action{
		{24, w.upsertSome}, {5, w.updateOne}, {6, w.deleteOne}, {3, w.uploadOne}, {2, w.hastyWrite},
		{25, w.readOne}, {10, w.queryOne}, {5, w.queryAll}, {10, w.readChunks}, {8, w.readOriginal}, {2, w.trespass},
	}
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	for ctx.Err() == nil {
		dice := w.random.IntN(total)
		for _, a := range actions {
			if dice -= a.weight; dice < 0 {
				a.do(settling)
				break
			}
		}
	}
}

// pick returns one of the worker's documents, or a new one if there are too few.
func (w *worker) pick() *model.Document {
	if len(w.own) < ownDocuments {
		d := w.tenant.add(w.random.IntN(len(w.tenant.stores)))
		w.own = append(w.own, d)
		return d
	}
	return w.own[w.random.IntN(len(w.own))]
}

// withID returns one of the worker's documents with a datasource, or nil.
func (w *worker) withID() *model.Document {
	for range 8 {
		if len(w.own) == 0 {
			return nil
		}
		if d := w.own[w.random.IntN(len(w.own))]; d.ID() != "" && !w.loose[d] {
			return d
		}
	}
	return nil
}

func (w *worker) begin(d *model.Document, how string) write {
	op, version := d.BeginWrite(w.now(), w.name+", "+how)
	return write{d, op, version}
}

func (w *worker) upsertSome(ctx context.Context) {
	first := w.pick()
	batch := []write{w.begin(first, "upsert")}
	for range w.random.IntN(maxBatch) {
		if d := w.pick(); d.Tag.Store == first.Tag.Store && !contains(batch, d) {
			batch = append(batch, w.begin(d, "upsert"))
		}
	}
	var ids []string
	err := w.tenant.settleOnce(ctx, w.random, func(ctx context.Context, c *client.Client) (err error) {
		ids, err = w.tenant.upsert(ctx, c, first.Tag.Store, batch)
		return err
	})
	if err == nil && len(ids) != len(batch) {
		w.report(first.Violate(model.Refused, w.since(w.now()), "an upsert of %d documents returned %d ids", len(batch), len(ids)))
		return
	}
	for i, one := range batch {
		id := ""
		if err == nil {
			id = ids[i]
		}
		w.finish(one, id, err)
	}
	w.count("writes", len(batch))
}

func contains(batch []write, d *model.Document) bool {
	for _, w := range batch {
		if w.document == d {
			return true
		}
	}
	return false
}

// finish records the outcome of a write that was retried until there was an answer or the run ended.
func (w *worker) finish(one write, id string, err error) {
	now := w.now()
	switch {
	case err == nil:
		one.op.Done(now, id)
		delete(w.loose, one.document)
	case mayPass(err): // the run has ended
		one.op.Unknown(now, err)
		w.loose[one.document] = true
	default:
		one.op.Unknown(now, err)
		w.loose[one.document] = true
		kind := model.Refused
		if id != "" && isNotFound(err) { // only updates know the datasource's id before the answer
			kind = model.Lost
		}
		w.report(one.document.Violate(kind, w.since(now), "writing version %d: %v", one.version, err))
	}
}

func (w *worker) updateOne(ctx context.Context) {
	d := w.withID()
	if d == nil {
		return
	}
	id := d.ID()
	one := w.begin(d, "update")
	err := w.tenant.settleOnce(ctx, w.random, func(ctx context.Context, c *client.Client) error { return w.tenant.update(ctx, c, id, one) })
	w.finish(one, id, err)
	w.count("writes", 1)
}

func (w *worker) deleteOne(ctx context.Context) {
	d := w.withID()
	if d == nil {
		return
	}
	id, from := d.ID(), w.now()
	op := d.BeginDelete(from, w.name)
	tried, err := w.tenant.settle(ctx, w.random, func(ctx context.Context, c *client.Client) error { return c.DeleteDatasource(ctx, id) })
	now := w.now()
	switch {
	case err == nil, isNotFound(err) && tried > 0:
		op.Done(now, id)
	case isNotFound(err):
		op.Cancelled(now, err)
		w.report(d.Missing(model.Interval{From: from, To: now}, "the deletion of datasource "+id))
	default:
		op.Unknown(now, err)
		w.loose[d] = true
		if !mayPass(err) {
			w.report(d.Violate(model.Refused, model.Interval{From: from, To: now}, "deleting datasource %s: %v", id, err))
		}
	}
	w.count("deletions", 1)
}

// uploadOne uploads a file as a new document, which must exist only once no matter how often the request is retried.
func (w *worker) uploadOne(ctx context.Context) {
	d := w.tenant.add(w.random.IntN(len(w.tenant.stores)))
	if len(w.own) < 2*ownDocuments {
		w.own = append(w.own, d)
	} else {
		w.own[w.random.IntN(len(w.own))] = d // the document it replaces stays as it is until the end
	}
	one := w.begin(d, "upload")
	var id string
	err := w.tenant.settleOnce(ctx, w.random, func(ctx context.Context, c *client.Client) (err error) {
		id, err = w.tenant.upload(ctx, c, one)
		return err
	})
	w.finish(one, id, err)
	w.count("writes", 1)
}

// hastyWrite makes one attempt with a short time limit and no Idempotency-Key. If there is no answer, the write may
// happen at any time, or never.
func (w *worker) hastyWrite(ctx context.Context) {
	one := w.begin(w.pick(), "hasty upsert")
	var ids []string
	limit := minHaste + time.Duration(w.random.Int64N(int64(maxHaste-minHaste)))
	err := w.tenant.once(ctx, w.random, limit, func(ctx context.Context, c *client.Client) (err error) {
		ids, err = w.tenant.upsert(ctx, c, one.document.Tag.Store, []write{one})
		return err
	})
	switch now := w.now(); {
	case err == nil && len(ids) == 1:
		w.finish(one, ids[0], nil)
	case isUnsent(err):
		one.op.Cancelled(now, err)
	case err == nil || !mayPass(err):
		one.op.Unknown(now, err)
		w.loose[one.document] = true
		w.report(one.document.Violate(model.Refused, w.since(now), "writing version %d: %d ids, %v", one.version, len(ids), err))
	default:
		one.op.Unknown(now, err)
		w.loose[one.document] = true
	}
	w.count("writes", 1)
}

// trespass requests another tenant's content with this tenant's key. Anything but a 404 is a leak.
func (w *worker) trespass(ctx context.Context) {
	other := w.tenants[w.random.IntN(len(w.tenants))]
	if other == w.tenant {
		return
	}
	d := other.any(w.random)
	if d == nil || d.ID() == "" {
		return
	}
	id, store, from := d.ID(), other.stores[d.Tag.Store], w.now()
	attempts := []struct {
		name string
		do   func(context.Context, *client.Client) error
	}{
		{"datasource " + id, func(ctx context.Context, c *client.Client) error { _, err := c.GetDatasource(ctx, id); return err }},
		{"the chunks of " + id, func(ctx context.Context, c *client.Client) error { _, err := chunksOf(ctx, c, id); return err }},
		{"the original of " + id, func(ctx context.Context, c *client.Client) error { _, err := originalOf(ctx, c, id); return err }},
		{"the deletion of " + id, func(ctx context.Context, c *client.Client) error { return c.DeleteDatasource(ctx, id) }},
		{"a query of datastore " + store, func(ctx context.Context, c *client.Client) error {
			_, err := c.QueryDatastore(ctx, store, client.DatastoreQuery{Query: d.Tag.String()})
			return err
		}},
		{"an upsert to datastore " + store, func(ctx context.Context, c *client.Client) error {
			_, err := c.UpsertDocuments(ctx, store, client.Document{Text: fmt.Sprintf("Tenant %d was here.", w.tenant.number)})
			return err
		}},
	}
	attempt := attempts[w.random.IntN(len(attempts))]
	err := w.tenant.once(ctx, w.random, attemptTimeout, attempt.do)
	w.count("trespasses", 1)
	if err == nil || !isNotFound(err) && !mayPass(err) {
		w.report(d.Violate(model.Leaked, model.Interval{From: from, To: w.now()}, "tenant %d asked for %s and was answered: %v", w.tenant.number, attempt.name, err))
	}
}
