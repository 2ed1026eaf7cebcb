package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/tools/consistency/model"
)

const (
	quietPoll    = 500 * time.Millisecond
	finalReaders = 8 // during the final checks
)

// final waits until nothing is in progress and compares the service's complete content with the history. Each existing
// document must be listed once and be searchable in the last accepted version, with that version's original and chunks.
// Deleted documents must be gone everywhere, and no tenant may have another's content.
func (r *run) final(ctx context.Context) error {
	for _, t := range r.tenants {
		if err := r.waitQuiet(ctx, t); err != nil {
			return err
		}
	}
	for _, t := range r.tenants {
		if err := r.checkTenant(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// waitQuiet waits until no datasource of the tenant is in progress.
func (r *run) waitQuiet(ctx context.Context, t *tenant) error {
	ctx, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	tick := time.NewTicker(quietPoll)
	defer tick.Stop()
	for {
		open := int64(0)
		for _, id := range t.stores {
			counts, err := ask(ctx, t, func(ctx context.Context, c *client.Client) (*client.DatasourceCounts, error) {
				return c.CountDatasources(ctx, id)
			})
			if err != nil {
				return fmt.Errorf("counting the datasources of tenant %d: %w", t.number, err)
			}
			open += counts.Unsynched + counts.Pending + counts.Running
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			r.report(&model.Violation{Kind: model.Lost, What: fmt.Sprintf("%d datasources of tenant %d are still in progress after %s", open, t.number, quietTimeout)})
			return nil
		case <-tick.C:
		}
	}
}

// ask retries a read until there is an answer.
func ask[T any](ctx context.Context, t *tenant, do func(context.Context, *client.Client) (T, error)) (got T, err error) {
	_, err = t.settle(ctx, rand.New(rand.NewPCG(0, uint64(time.Now().UnixNano()))), func(ctx context.Context, c *client.Client) (err error) {
		got, err = do(ctx, c)
		return err
	})
	return got, err
}

func (r *run) checkTenant(ctx context.Context, t *tenant) error {
	listed := map[*model.Document]client.Datasource{}
	for store, id := range t.stores {
		all, in, err := r.list(ctx, t, id)
		if err != nil {
			return fmt.Errorf("listing the datasources of tenant %d: %w", t.number, err)
		}
		for _, s := range all {
			r.report(t.checkListed(store, s, listed, in))
		}
	}
	if err := r.checkStores(ctx, t); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(finalReaders)
	for _, d := range t.all() {
		group.Go(func() error { return r.checkDocument(ctx, t, d, listed[d]) })
	}
	return group.Wait()
}

// list returns all of a datastore's datasources. If a page fails, it starts over.
func (r *run) list(ctx context.Context, t *tenant, id string) (all []client.Datasource, in model.Interval, err error) {
	all, err = ask(ctx, t, func(ctx context.Context, c *client.Client) (all []client.Datasource, err error) {
		in.From = r.now()
		for s, err := range c.ListDatasources(context.WithoutCancel(ctx), &client.ListDatasourcesParams{DatastoreId: &id}) {
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		in.To = r.now()
		return all, nil
	})
	return all, in, err
}

// checkListed checks an entry in a datastore's final list and records it in `listed`.
func (t *tenant) checkListed(store int, s client.Datasource, listed map[*model.Document]client.Datasource, in model.Interval) error {
	tag, ok := model.ParseTag(text(s.CustomId))
	d := t.document(tag)
	switch {
	case !ok || d == nil && tag.Tenant == t.number:
		return &model.Violation{Kind: model.Invented, Tag: tag, What: fmt.Sprintf("datasource %s (%q) of tenant %d was not written", s.Id, s.Name, t.number)}
	case d == nil:
		return &model.Violation{Kind: model.Leaked, Tag: tag, What: fmt.Sprintf("datasource %s (%q) is listed for tenant %d", s.Id, s.Name, t.number)}
	case tag.Store != store:
		return d.Violate(model.Mixed, in, "it is listed in datastore %d", store)
	}
	if before, twice := listed[d]; twice {
		return d.Violate(model.Duplicated, in, "it is listed as the datasources %s and %s", before.Id, s.Id)
	}
	listed[d] = s
	return checkDatasource(d, s.Id, &s, in, nil)
}

// checkStores checks that the tenant sees its own datastores and none from this run's other tenants.
func (r *run) checkStores(ctx context.Context, t *tenant) error {
	seen, err := ask(ctx, t, func(ctx context.Context, c *client.Client) (map[string]bool, error) {
		seen := map[string]bool{}
		for s, err := range c.ListDatastores(ctx) {
			if err != nil {
				return nil, err
			}
			seen[s.Id] = true
		}
		return seen, nil
	})
	if err != nil {
		return fmt.Errorf("listing the datastores of tenant %d: %w", t.number, err)
	}
	for _, other := range r.tenants {
		for i, id := range other.stores {
			switch {
			case other == t && !seen[id]:
				r.report(&model.Violation{Kind: model.Lost, What: fmt.Sprintf("datastore %d of tenant %d is not listed", i, t.number)})
			case other != t && seen[id]:
				r.report(&model.Violation{Kind: model.Leaked, What: fmt.Sprintf("datastore %d of tenant %d is listed for tenant %d", i, other.number, t.number)})
			}
		}
	}
	return nil
}

// checkDocument checks a document at the end. `s` is the document's entry in the datastore's final list, or the zero
// value if the list has no such entry.
func (r *run) checkDocument(ctx context.Context, t *tenant, d *model.Document, s client.Datasource) error {
	r.count("final checks", 1)
	in := model.Interval{From: r.now()}
	filter := &client.Filters{CustomIds: &[]string{d.Tag.String()}}
	found, err := ask(ctx, t, func(ctx context.Context, c *client.Client) ([]client.Fragment, error) {
		in.From = r.now()
		return t.query(ctx, c, d.Tag.Store, model.Sentence(d.Tag, max(1, d.Latest())), filter)
	})
	in.To = r.now()
	if err != nil {
		return fmt.Errorf("querying document %s: %w", d.Tag, err)
	}
	r.report(t.checkFragments(d.Tag.Store, found, in, d))
	r.report(r.checkDeleted(ctx, t, d))
	if s.Id == "" {
		r.report(d.Missing(in, "the list of datasources"))
		if len(found) > 0 {
			r.report(d.Violate(model.Resurrected, in, "it is not listed, but %d fragments are found", len(found)))
		}
		return nil
	}
	if s.Status != client.DatasourceStatusSynched {
		r.report(d.Violate(model.Lost, in, "datasource %s ended with the status %s: %s", s.Id, s.Status, text(s.Error)))
		return nil
	}
	if len(found) == 0 {
		r.report(d.Invisible(in, "a query with its custom id"))
	}
	var texts []string
	in, err = r.readFinal(ctx, t, func(ctx context.Context, c *client.Client) (err error) {
		texts, err = chunksOf(ctx, c, s.Id)
		return err
	})
	r.report(checkChunks(d, s.Id, texts, in, err))
	if err == nil && len(texts) != int(s.Chunks) {
		r.report(d.Violate(model.Mixed, in, "datasource %s has %d chunks, and %d are listed", s.Id, s.Chunks, len(texts)))
	}
	var content string
	in, err = r.readFinal(ctx, t, func(ctx context.Context, c *client.Client) (err error) {
		content, err = originalOf(ctx, c, s.Id)
		return err
	})
	r.report(checkOriginal(d, s.Id, content, in, err))
	if want := model.Text(d.Tag, versionOf(&s)); err == nil && content != want {
		r.report(d.Violate(model.Mixed, in, "the original of datasource %s is not that of version %d", s.Id, versionOf(&s)))
	}
	return nil
}

func (r *run) readFinal(ctx context.Context, t *tenant, do func(context.Context, *client.Client) error) (model.Interval, error) {
	var in model.Interval
	_, err := ask(ctx, t, func(ctx context.Context, c *client.Client) (struct{}, error) {
		in.From = r.now()
		return struct{}{}, do(ctx, c)
	})
	in.To = r.now()
	return in, err
}

// checkDeleted checks that no trace is left of the document's last deleted datasources.
func (r *run) checkDeleted(ctx context.Context, t *tenant, d *model.Document) error {
	var faults []error
	for _, id := range d.Deleted() {
		reads := map[string]func(context.Context, *client.Client) error{
			"GET /datasources/{id}":          func(ctx context.Context, c *client.Client) error { _, err := c.GetDatasource(ctx, id); return err },
			"GET /datasources/{id}/chunks":   func(ctx context.Context, c *client.Client) error { _, err := chunksOf(ctx, c, id); return err },
			"GET /datasources/{id}/original": func(ctx context.Context, c *client.Client) error { _, err := originalOf(ctx, c, id); return err },
		}
		for how, do := range reads {
			in, err := r.readFinal(ctx, t, do)
			switch {
			case isNotFound(err):
			case err == nil:
				faults = append(faults, d.Present(id, in, how))
			default:
				faults = append(faults, d.Violate(model.Refused, in, "%s of a deleted datasource: %v", how, err))
			}
		}
	}
	return errors.Join(faults...)
}
