package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/rules"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/api/upload"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// Maximum number of documents from one upsert to store concurrently.
const parallelOriginals = 8

// DocumentStore stores the content of text datasources.
type DocumentStore interface {
	// UpsertDatasources stores all datasources or none. If a CustomID already exists in the datastore, the existing
	// datasource keeps its id and gets the new content. The results are in the same order as `in`.
	UpsertDatasources(ctx context.Context, in []catalog.NewDatasource) ([]domain.Datasource, error)
	DatasourceByCustomID(ctx context.Context, ws, datastoreID, customID string) (domain.Datasource, error)
	ReplaceContent(ctx context.Context, ws, id string, r catalog.Replacement) (domain.Datasource, error)
}

// UpsertDocuments implements StrictServerInterface.
func (s *server) UpsertDocuments(ctx context.Context, r UpsertDocumentsRequestObject) (UpsertDocumentsResponseObject, error) {
	items := checkedItems(ctx, len(r.Body.Documents))
	ctx, caller := access.CallerOf(ctx)
	store, err := s.datastore(ctx, caller, r.DatastoreId)
	if err != nil {
		return nil, err
	}
	batch, places, err := s.planUpsert(ctx, store, r.Body.Documents, items)
	if err != nil {
		return nil, err
	}
	stored, err := idempotency.CreateOnce(ctx,
		func() ([]domain.Datasource, error) { return s.storedUpserts(ctx, batch) },
		func() ([]domain.Datasource, error) { return s.upsert(ctx, store, batch) })
	if err != nil {
		return nil, err
	}
	results := s.resultsOf(items, batch, places, stored)
	return UpsertDocuments200JSONResponse{Ids: lists.Map(results, func(r DocumentResult) string { return r.Id }), Results: results}, nil
}

// checkedItems returns the results of checking each item in the batch. If the items weren't checked individually, it
// returns n results without faults.
func checkedItems(ctx context.Context, n int) []jsonbody.Item {
	if c, ok := ctx.(*gin.Context); ok {
		if body, ok := c.Request.Body.(*transfer.Checked); ok {
			return slices.Clone(body.Items)
		}
	}
	return make([]jsonbody.Item, n)
}

// resultsOf returns one result for each document sent. `items` holds the documents' check results. For each accepted
// document, `places` holds the index of its datasource in `batch` and `stored`.
func (s *server) resultsOf(items []jsonbody.Item, batch []*upsertItem, places []int, stored []domain.Datasource) []DocumentResult {
	last := make([]int, len(batch)) // each datasource's last document
	for n, place := range places {
		last[place] = n
	}
	n := 0 // accepted documents so far
	return lists.Map(items, func(item jsonbody.Item) DocumentResult {
		if len(item.Faults) > 0 {
			return DocumentResult{Status: DocumentResultStatusRejected, Errors: s.shownFields(item.Faults)}
		}
		place := places[n]
		r := DocumentResult{Id: stored[place].ID, Warnings: s.shownFields(item.Warnings)}
		switch {
		case last[place] != n:
			r.Status = DocumentResultStatusSuperseded
		case batch[place].replaces():
			r.Status = DocumentResultStatusReplaced
		default:
			r.Status = DocumentResultStatusCreated
		}
		n++
		return r
	})
}

// shownFields renders a document's first few faults or warnings, without secrets. It returns nil if there are none.
func (s *server) shownFields(fields []domain.FieldError) *[]FieldError {
	const shown = 10
	if len(fields) == 0 {
		return nil
	}
	out := lists.Map(fields[:min(len(fields), shown)], func(f domain.FieldError) FieldError {
		return FieldError{Field: s.Secrets.Redact(f.Field), Message: s.Secrets.Redact(f.Message)}
	})
	if more := len(fields) - shown; more > 0 {
		out[shown-1].Message += fmt.Sprintf(" (and %d more)", more)
	}
	return &out
}

// upsert stores the whole batch or nothing.
func (s *server) upsert(ctx context.Context, store domain.Datastore, batch []*upsertItem) ([]domain.Datasource, error) {
	if !slices.ContainsFunc(batch, (*upsertItem).replaces) { // a replacement may need less storage than the original
		if err := s.Usage.CheckStorage(ctx, store.WorkspaceID); err != nil {
			return nil, err
		}
	}
	if err := s.storeOriginals(ctx, batch); err != nil {
		s.dropOriginals(ctx, originalsOf(batch)...)
		return nil, err
	}
	rows := make([]catalog.NewDatasource, len(batch))
	for i, u := range batch {
		u.datasource.SetOriginal(u.original)
		job := idempotency.WithJobID(ctx, domain.NewIngestJob(u.datasource, store), i)
		rows[i] = catalog.NewDatasource{Datasource: u.datasource, Job: job, Priority: catalog.PriorityFresh}
	}
	stored, err := s.Documents.UpsertDatasources(ctx, rows)
	if err != nil {
		s.dropRefused(ctx, err, originalsOf(batch)...)
		return nil, err
	}
	return stored, nil
}

// storedUpserts returns the batch's datasources if an earlier run of the request stored them, and otherwise
// domain.CodeNotFound. A run stores either all datasources or none, so one match is enough: a datasource that an
// earlier run created, or whose newest job it queued. The others may have changed since.
func (s *server) storedUpserts(ctx context.Context, batch []*upsertItem) ([]domain.Datasource, error) {
	for i, u := range batch {
		d, err := s.Datasources.Datasource(ctx, u.datasource.WorkspaceID, u.datasource.ID)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if d.ID == u.newID || idempotency.HasJobID(ctx, d.JobID, i) {
			return lists.Map(batch, func(u *upsertItem) domain.Datasource { return u.datasource }), nil
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "no earlier attempt at this request stored its documents")
}

// upsertItem is a document in an upsert, with its datasource.
type upsertItem struct {
	newID      string            // the datasource's id if it is new
	datasource domain.Datasource // new, or with the id of the datasource it replaces
	text       string
	original   domain.Original
}

func (u *upsertItem) replaces() bool { return u.datasource.ID != u.newID }

// planUpsert returns the upsert's datasources in `batch`. `places` holds each accepted document's index in `batch`. If
// several documents have the same custom id, the last one wins. A document that can't replace the datasource with its
// custom id is rejected with a fault in its item. planUpsert fails if all documents are rejected.
func (s *server) planUpsert(ctx context.Context, store domain.Datastore, documents []Document, items []jsonbody.Item) (batch []*upsertItem, places []int, err error) {
	placeOf := map[string]int{}
	for n, i := range jsonbody.Accepted(items) {
		document := documents[n]
		metadata, customID := metadataOf(document.Metadata)
		customID = cmp.Or(orZero(document.CustomId), customID)
		place, again := placeOf[customID]
		if !again || customID == "" {
			place = len(batch)
			u, err := s.planDocument(ctx, store, customID, place)
			if err != nil {
				return nil, nil, err
			}
			if u.datasource.Type.IsGroup() {
				items[i].Faults = rules.GroupFaults(i, document.CustomId == nil, u.datasource)
				continue
			}
			placeOf[customID] = place
			batch = append(batch, u)
		}
		u := batch[place]
		u.text, u.datasource.Metadata = document.Text, metadata
		if name := orZero(trimmed(document.Name)); name != "" {
			u.datasource.Name = name
		} else if u.datasource.Name == "" {
			u.datasource.Name = titleOf(document.Text)
		}
		places = append(places, place)
	}
	if len(batch) == 0 {
		return nil, nil, problem.Invalid(jsonbody.FaultsOf(items))
	}
	return batch, places, nil
}

// planDocument returns the datasource for a document. If a datasource with the custom id exists, the result takes over
// its id and name and, if it is a group, its type. The id is needed before the transaction, because the content is
// stored under it. The transaction checks that the datasource still exists.
func (s *server) planDocument(ctx context.Context, store domain.Datastore, customID string, place int) (*upsertItem, error) {
	d := s.newDatasource(ctx, store, domain.TypeText, place)
	d.CustomID, d.Config.CustomID = customID, customID
	u := &upsertItem{datasource: d, newID: d.ID}
	if customID == "" {
		return u, nil
	}
	found, err := s.Documents.DatasourceByCustomID(ctx, store.WorkspaceID, store.ID, customID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return u, nil
	}
	u.datasource.ID, u.datasource.Name = found.ID, found.Name
	if found.Type.IsGroup() {
		u.datasource.Type = found.Type
	}
	return u, err
}

func (s *server) storeOriginals(ctx context.Context, batch []*upsertItem) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelOriginals)
	for _, u := range batch {
		g.Go(func() (err error) {
			u.original, err = s.Originals.Put(ctx, u.datasource.ID, textName, textType, strings.NewReader(u.text))
			return err
		})
	}
	return g.Wait()
}

func originalsOf(batch []*upsertItem) []domain.Original {
	return lists.Map(batch, func(u *upsertItem) domain.Original { return u.original })
}

// UpdateDocument implements StrictServerInterface.
func (s *server) UpdateDocument(ctx context.Context, r UpdateDocumentRequestObject) (UpdateDocumentResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	store, err := s.datastore(ctx, caller, r.DatastoreId)
	if err != nil {
		return nil, err
	}
	d, err := s.datasource(ctx, caller, r.Body.Id)
	if err != nil {
		return nil, err
	}
	if d.DatastoreID != store.ID { // the path names another datastore
		return nil, domain.Errorf(domain.CodeNotFound, "datastore %q has no datasource with id %q", store.ID, d.ID)
	}
	switch d.Type {
	case domain.TypeWebSite:
		return nil, domain.Errorf(domain.CodeConflict, "datasource %q is a web_site, which has no content of its own; update one of its pages", d.ID)
	case domain.TypeArchive:
		return nil, domain.Errorf(domain.CodeConflict, "datasource %q is an archive, which cannot be replaced by text; update one of its files, or replace the archive's original", d.ID)
	}
	if idempotency.HasJobID(ctx, d.JobID, 0) { // an earlier run of the request has replaced the content
		return UpdateDocument200JSONResponse{Id: d.ID}, nil
	}
	replacement := catalog.Replacement{
		Type: d.Type, Name: optional(orZero(trimmed(r.Body.Name))), Job: idempotency.WithJobID(ctx, domain.NewIngestJob(d, store), 0), Priority: catalog.PriorityFresh,
	}
	if r.Body.Metadata != nil {
		metadata, customID := metadataOf((*Document_Metadata)(r.Body.Metadata))
		replacement.Metadata = &metadata
		replacement.CustomID = optional(customID)
	}
	if id := r.Body.CustomId; id != nil {
		replacement.CustomID = id
		if _, kept := d.Metadata["custom_id"]; kept && replacement.Metadata == nil { // the stored metadata contains the old id
			metadata := maps.Clone(d.Metadata)
			metadata["custom_id"] = *id
			replacement.Metadata = &metadata
		}
	}
	if replacement.Original, err = s.Originals.Put(ctx, d.ID, textName, textType, strings.NewReader(r.Body.Text)); err != nil {
		return nil, err
	}
	if _, err := s.Documents.ReplaceContent(ctx, store.WorkspaceID, d.ID, replacement); err != nil {
		s.dropRefused(ctx, err, replacement.Original)
		return nil, err
	}
	return UpdateDocument200JSONResponse{Id: d.ID}, nil
}

// customIDIn returns the custom id in metadata, or "" if there is no valid one.
func customIDIn(metadata map[string]any) string {
	id, _ := metadata["custom_id"].(string)
	if utf8.RuneCountInString(id) > upload.MaxCustomID {
		return ""
	}
	return id
}

// metadataOf returns the metadata to store for a document, and the document's custom id.
func metadataOf(m *Document_Metadata) (metadata map[string]any, customID string) {
	metadata = map[string]any{}
	if m == nil {
		return metadata, ""
	}
	for key, v := range m.AdditionalProperties {
		metadata[key] = v
	}
	if m.CustomId != nil {
		metadata["custom_id"] = *m.CustomId
		customID = *m.CustomId
	}
	return metadata, customID
}
