package api

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// originalsAtOnce is how many documents of one upsert are being stored at a time.
const originalsAtOnce = 8

// UpsertDocuments implements StrictServerInterface.
func (s *server) UpsertDocuments(ctx context.Context, r UpsertDocumentsRequestObject) (UpsertDocumentsResponseObject, error) {
	ctx, who := callerOf(ctx)
	store, err := s.datastore(ctx, who, r.DatastoreId)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.Body.Documents, hasCustomID) {
		// Two upserts of one custom id at the same moment must not both find nothing and make two datasources of it.
		unlock, err := s.upserts.lock(ctx, store.ID)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	batch, ids, err := s.planUpsert(ctx, store, r.Body.Documents)
	if err != nil {
		return nil, err
	}
	if err := s.storeOriginals(ctx, batch); err != nil {
		s.dropOriginals(ctx, originalsOf(batch)...)
		return nil, err
	}
	if err := s.commitUpsert(ctx, store, batch); err != nil {
		s.dropRefused(ctx, err, originalsOf(batch)...)
		return nil, err
	}
	return UpsertDocuments200JSONResponse{Ids: ids}, nil
}

func hasCustomID(d Document) bool { return d.Metadata != nil && d.Metadata.CustomId != nil }

// upserted is one document on its way to a datasource.
type upserted struct {
	datasource domain.Datasource // new, or as it was found
	replaces   bool
	name       *string
	metadata   map[string]any
	text       string
	original   domain.Original
	committed  bool
}

// planUpsert decides which datasource each document becomes. Of documents with the same custom id the last one stays.
func (s *server) planUpsert(ctx context.Context, store domain.Datastore, documents []Document) (batch []*upserted, ids []string, err error) {
	byCustomID := map[string]*upserted{}
	for _, document := range documents {
		metadata, customID := metadataOf(document.Metadata)
		u := byCustomID[customID]
		if u == nil || customID == "" {
			if u, err = s.planDocument(ctx, store, customID); err != nil {
				return nil, nil, err
			}
			byCustomID[customID] = u
			batch = append(batch, u)
		}
		u.name, u.metadata, u.text = trim(document.Name), metadata, document.Text
		ids = append(ids, u.datasource.ID)
	}
	return batch, ids, nil
}

func (s *server) planDocument(ctx context.Context, store domain.Datastore, customID string) (*upserted, error) {
	if customID != "" {
		found, err := s.Catalog.DatasourceByCustomID(ctx, store.WorkspaceID, store.ID, customID)
		if err == nil {
			return &upserted{datasource: found, replaces: true}, nil
		}
		if domain.CodeOf(err) != domain.CodeNotFound {
			return nil, err
		}
	}
	d := s.newDatasource(store, domain.TypeText)
	d.CustomID, d.Config.CustomID = customID, customID
	return &upserted{datasource: d}, nil
}

func (s *server) storeOriginals(ctx context.Context, batch []*upserted) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(originalsAtOnce)
	for _, u := range batch {
		g.Go(func() (err error) {
			u.original, err = s.Originals.Put(ctx, u.datasource.ID, textName, textType, strings.NewReader(u.text))
			return err
		})
	}
	return g.Wait()
}

// commitUpsert makes the rows and jobs: the new ones all together, then the replaced ones.
func (s *server) commitUpsert(ctx context.Context, store domain.Datastore, batch []*upserted) error {
	var fresh []catalog.NewDatasource
	for _, u := range batch {
		if u.replaces {
			continue
		}
		d := u.datasource
		d.Metadata = u.metadata
		if d.Name = value(u.name); d.Name == "" {
			d.Name = titleOf(u.text)
		}
		attach(&d, u.original)
		fresh = append(fresh, catalog.NewDatasource{Datasource: d, Job: domain.NewIngestJob(d, store.EmbeddingModel), Priority: catalog.PriorityFresh})
	}
	if len(fresh) > 0 {
		if _, err := s.Catalog.CreateDatasources(ctx, fresh); err != nil {
			return err
		}
	}
	for _, u := range batch {
		u.committed = !u.replaces
	}
	for _, u := range batch {
		if !u.replaces {
			continue
		}
		r := catalog.Replacement{
			Name: notEmpty(u.name), Metadata: &u.metadata, Original: u.original,
			Job: domain.NewIngestJob(u.datasource, store.EmbeddingModel), Priority: catalog.PriorityFresh,
		}
		if _, err := s.Catalog.ReplaceContent(ctx, store.WorkspaceID, u.datasource.ID, r); err != nil {
			return err
		}
		u.committed = true
	}
	return nil
}

// originalsOf are those of documents that have not become datasources.
func originalsOf(batch []*upserted) []domain.Original {
	var out []domain.Original
	for _, u := range batch {
		if !u.committed {
			out = append(out, u.original)
		}
	}
	return out
}

// UpdateDocument implements StrictServerInterface.
func (s *server) UpdateDocument(ctx context.Context, r UpdateDocumentRequestObject) (UpdateDocumentResponseObject, error) {
	ctx, who := callerOf(ctx)
	store, err := s.datastore(ctx, who, r.DatastoreId)
	if err != nil {
		return nil, err
	}
	d, err := s.datasource(ctx, who, r.Body.Id)
	if err != nil {
		return nil, err
	}
	if d.DatastoreID != store.ID { // the path says what may be changed, not the body alone
		return nil, domain.Errorf(domain.CodeNotFound, "datastore %q has no datasource with id %q", store.ID, d.ID)
	}
	if d.Type == domain.TypeWebSite {
		return nil, domain.Errorf(domain.CodeConflict, "datasource %q is a web_site, whose content is its pages; update one of them", d.ID)
	}
	replacement := catalog.Replacement{Name: notEmpty(trim(r.Body.Name)), Job: domain.NewIngestJob(d, store.EmbeddingModel), Priority: catalog.PriorityFresh}
	if r.Body.Metadata != nil {
		metadata, customID := metadataOf((*Document_Metadata)(r.Body.Metadata))
		replacement.Metadata = &metadata
		if customID != "" {
			replacement.CustomID = &customID
		}
	}
	if replacement.Original, err = s.Originals.Put(ctx, d.ID, textName, textType, strings.NewReader(r.Body.Text)); err != nil {
		return nil, err
	}
	if _, err := s.Catalog.ReplaceContent(ctx, store.WorkspaceID, d.ID, replacement); err != nil {
		s.dropRefused(ctx, err, replacement.Original)
		return nil, err
	}
	return UpdateDocument200JSONResponse{Id: d.ID}, nil
}

// metadataOf is a document's metadata as it is kept, and the custom id in it.
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

func notEmpty(v *string) *string {
	if v == nil || *v == "" {
		return nil
	}
	return v
}

// stripes are locks by name: few enough to keep, many enough that two names seldom share one.
type stripes struct {
	seed  maphash.Seed
	slots [64]chan struct{}
}

func newStripes() *stripes {
	l := &stripes{seed: maphash.MakeSeed()}
	for i := range l.slots {
		l.slots[i] = make(chan struct{}, 1)
	}
	return l
}

// lock waits for the name's lock, no longer than ctx.
func (l *stripes) lock(ctx context.Context, name string) (unlock func(), err error) {
	slot := l.slots[maphash.String(l.seed, name)%uint64(len(l.slots))]
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
