package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/tools/consistency/model"
)

// read makes one attempt at a read. It returns the interval from `from`, a time before the document's id was looked up,
// until the answer. If ok is false, there was no answer, and the read proves nothing.
func (w *worker) read(ctx context.Context, from time.Duration, do func(context.Context, *client.Client) error) (in model.Interval, ok bool, err error) {
	in.From = from
	err = w.tenant.once(ctx, w.random, attemptTimeout, do)
	in.To = w.now()
	w.count("reads", 1)
	if err != nil && mayPass(err) {
		w.count("unanswered", 1)
		return in, false, err
	}
	return in, true, err
}

// readOne reads the datasource of a random document in the workspace, possibly another worker's.
func (w *worker) readOne(ctx context.Context) {
	from, d := w.now(), w.tenant.any(w.random)
	if d == nil || d.ID() == "" {
		return
	}
	id := d.ID()
	var got *client.Datasource
	in, ok, err := w.read(ctx, from, func(ctx context.Context, c *client.Client) (err error) {
		got, err = c.GetDatasource(ctx, id)
		return err
	})
	if ok {
		w.report(checkDatasource(d, id, got, in, err))
	}
}

// checkDatasource checks the answer to GET /datasources/{id}.
func checkDatasource(d *model.Document, id string, got *client.Datasource, in model.Interval, err error) error {
	const how = "GET /datasources/{id}"
	switch {
	case isNotFound(err):
		return d.Missing(in, how)
	case err != nil:
		return d.Violate(model.Refused, in, "%s: %v", how, err)
	}
	if got.CustomId == nil || *got.CustomId != d.Tag.String() {
		return d.Violate(model.Mixed, in, "datasource %s has the custom id %q", id, text(got.CustomId))
	}
	if got.Status == client.DatasourceStatusError || got.Status == client.DatasourceStatusSkipped {
		return d.Violate(model.Refused, in, "datasource %s has the status %s: %s", id, got.Status, text(got.Error))
	}
	if err := d.Present(id, in, how); err != nil {
		return err
	}
	return d.Accepted(versionOf(got), got.Status == client.DatasourceStatusSynched, in, how)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// queryOne searches with a filter for one document, to find out whether it is searchable.
func (w *worker) queryOne(ctx context.Context) {
	from, d := w.now(), w.tenant.any(w.random)
	if d == nil || d.Latest() == 0 {
		return
	}
	var found []client.Fragment
	in, ok, err := w.read(ctx, from, func(ctx context.Context, c *client.Client) (err error) {
		found, err = w.tenant.query(ctx, c, d.Tag.Store, model.Sentence(d.Tag, 1+w.random.IntN(d.Latest())), &client.Filters{CustomIds: &[]string{d.Tag.String()}})
		return err
	})
	if !ok {
		return
	}
	if err != nil {
		w.report(d.Violate(model.Refused, in, "a query: %v", err))
		return
	}
	if len(found) == 0 {
		w.report(d.Invisible(in, "a query with its custom id"))
	}
	w.report(w.tenant.checkFragments(d.Tag.Store, found, in, d))
}

// queryAll searches a datastore without a filter.
func (w *worker) queryAll(ctx context.Context) {
	from, d := w.now(), w.tenant.any(w.random)
	if d == nil || d.Latest() == 0 {
		return
	}
	var found []client.Fragment
	in, ok, err := w.read(ctx, from, func(ctx context.Context, c *client.Client) (err error) {
		found, err = w.tenant.query(ctx, c, d.Tag.Store, model.Sentence(d.Tag, d.Latest()), nil)
		return err
	})
	if !ok {
		return
	}
	if err != nil {
		w.report(d.Violate(model.Refused, in, "a query: %v", err))
		return
	}
	w.report(w.tenant.checkFragments(d.Tag.Store, found, in, nil))
}

// checkFragments checks a query's fragments. Each must be a part of one version of a document in this datastore, and a
// document's fragments must agree on the version and the datasource. If `only` is not nil, all must come from that
// document.
func (t *tenant) checkFragments(store int, found []client.Fragment, in model.Interval, only *model.Document) error {
	type sight struct {
		version    int
		datasource string
	}
	seen := map[*model.Document]sight{}
	var faults []error
	for _, f := range found {
		tag, version, err := model.Identify(f.Text)
		d := t.document(tag)
		switch {
		case tag.Tenant != t.number && (tag != model.Tag{} || !errors.Is(err, model.ErrForeign)): // the zero tag is also that of a document
			faults = append(faults, &model.Violation{Kind: model.Leaked, Tag: tag, What: fmt.Sprintf("tenant %d found %q", t.number, f.Text)})
			continue
		case d == nil:
			faults = append(faults, &model.Violation{Kind: model.Invented, Tag: tag, What: fmt.Sprintf("tenant %d found %q, %v", t.number, f.Text, err)})
			continue
		case err != nil:
			faults = append(faults, d.Violate(model.Mixed, in, "a fragment of datasource %s: %v", f.DatasourceId, err))
			continue
		case tag.Store != store || only != nil && d != only:
			faults = append(faults, d.Violate(model.Mixed, in, "a query of datastore %d, or with the custom id of another document, found it", store))
			continue
		case f.CustomId == nil || *f.CustomId != tag.String():
			faults = append(faults, d.Violate(model.Mixed, in, "a fragment of its text is shown as that of custom id %q", text(f.CustomId)))
			continue
		}
		now, before := sight{version, f.DatasourceId}, seen[d]
		switch {
		case before == now:
			continue
		case before == sight{}:
		case before.datasource != now.datasource:
			faults = append(faults, d.Violate(model.Duplicated, in, "one query found it in the datasources %s and %s", before.datasource, now.datasource))
			continue
		default:
			faults = append(faults, d.Violate(model.Mixed, in, "one query found version %d and version %d", before.version, now.version))
			continue
		}
		seen[d] = now
		faults = append(faults, d.Present(f.DatasourceId, in, "a query"), d.Visible(version, in, "a query"))
	}
	return errors.Join(faults...)
}

// readChunks lists a document's searchable chunks, which together must be exactly one version.
func (w *worker) readChunks(ctx context.Context) {
	from, d := w.now(), w.tenant.any(w.random)
	if d == nil || d.ID() == "" {
		return
	}
	id := d.ID()
	var texts []string
	in, ok, err := w.read(ctx, from, func(ctx context.Context, c *client.Client) (err error) {
		texts, err = chunksOf(ctx, c, id)
		return err
	})
	if ok {
		w.report(checkChunks(d, id, texts, in, err))
	}
}

// checkChunks checks the answer to GET /datasources/{id}/chunks.
func checkChunks(d *model.Document, id string, texts []string, in model.Interval, err error) error {
	const how = "GET /datasources/{id}/chunks"
	switch {
	case isNotFound(err):
		return d.Missing(in, how)
	case err != nil:
		return d.Violate(model.Refused, in, "%s: %v", how, err)
	case len(texts) == 0:
		return d.Invisible(in, how)
	}
	version := 0
	for _, piece := range texts {
		tag, v, err := model.Identify(piece)
		switch {
		case err != nil || tag != d.Tag:
			return d.Violate(model.Mixed, in, "a chunk of datasource %s is %q: %v", id, piece, err)
		case version != 0 && v != version:
			return d.Violate(model.Mixed, in, "datasource %s has chunks of versions %d and %d", id, version, v)
		}
		version = v
	}
	if !model.IsWhole(d.Tag, version, texts) {
		return d.Violate(model.Mixed, in, "the %d chunks of datasource %s are not the whole of version %d: %q", len(texts), id, version, texts)
	}
	return errors.Join(d.Present(id, in, how), d.Visible(version, in, how))
}

// readOriginal reads a document's stored content.
func (w *worker) readOriginal(ctx context.Context) {
	from, d := w.now(), w.tenant.any(w.random)
	if d == nil || d.ID() == "" {
		return
	}
	id := d.ID()
	var content string
	in, ok, err := w.read(ctx, from, func(ctx context.Context, c *client.Client) (err error) {
		content, err = originalOf(ctx, c, id)
		return err
	})
	if ok {
		w.report(checkOriginal(d, id, content, in, err))
	}
}

// checkOriginal checks the answer to GET /datasources/{id}/original.
func checkOriginal(d *model.Document, id, content string, in model.Interval, err error) error {
	const how = "GET /datasources/{id}/original"
	switch {
	case isNotFound(err):
		return d.Missing(in, how)
	case err != nil:
		return d.Violate(model.Refused, in, "%s: %v", how, err)
	}
	tag, version, err := model.Identify(content)
	if err != nil || tag != d.Tag {
		return d.Violate(model.Mixed, in, "the original of datasource %s is %q: %v", id, content, err)
	}
	if content != model.Text(tag, version) {
		return d.Violate(model.Mixed, in, "the original of datasource %s is %d bytes of version %d, whose text has %d", id, len(content), version, len(model.Text(tag, version)))
	}
	return errors.Join(d.Present(id, in, how), d.Accepted(version, false, in, how))
}
