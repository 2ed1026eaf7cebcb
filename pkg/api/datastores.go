package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/searchsettings"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	settings "github.com/sluice/sluice/pkg/searchsettings"
)

// DatastoreStore reads and writes datastores.
type DatastoreStore interface {
	CreateDatastore(ctx context.Context, d domain.Datastore) (domain.Datastore, error)
	Datastore(ctx context.Context, ws, id string) (domain.Datastore, error)
	// PublicDatastore returns a public datastore from any workspace, or domain.CodeNotFound if no public datastore has
	// the id.
	PublicDatastore(ctx context.Context, id string) (domain.Datastore, error)
	Datastores(ctx context.Context, ws string, p catalog.Page) ([]domain.Datastore, string, error)
	// UpdateDatastore updates the datastore. If the patch names a different engine or embedding model, the content
	// starts moving there, replacing any move in progress. Naming the current one cancels the move.
	UpdateDatastore(ctx context.Context, ws, id string, p domain.DatastorePatch) (domain.Datastore, error)
	MoveProgress(ctx context.Context, id string) (domain.MoveProgress, error)
	DeleteDatastore(ctx context.Context, ws, id string) (domain.Datastore, error)
	// DatastoreCounts counts the datastore's datasources by status. Statuses without datasources have no entry.
	DatastoreCounts(ctx context.Context, ws, id string) (map[domain.Status]int64, error)
}

// ListDatastores implements StrictServerInterface.
func (s *server) ListDatastores(ctx context.Context, r ListDatastoresRequestObject) (ListDatastoresResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	datastores, next, err := s.Datastores.Datastores(ctx, caller.Workspace(), pageOf(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	out := ListDatastores200JSONResponse{Data: make([]Datastore, len(datastores)), NextCursor: optional(next)}
	for i, d := range datastores {
		if out.Data[i], err = s.showDatastore(ctx, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CreateDatastore implements StrictServerInterface.
func (s *server) CreateDatastore(ctx context.Context, r CreateDatastoreRequestObject) (CreateDatastoreResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := s.checkEngines(r.Body.Type, r.Body.EmbeddingModel); err != nil {
		return nil, err
	}
	d := domain.Datastore{
		ID: idempotency.ID(ctx, s.NewID, "datastore"), WorkspaceID: caller.Workspace(), Visibility: domain.Private,
		Type:           cmp.Or(domain.Engine(orZero(r.Body.Type)), s.options.Engines[0]),
		EmbeddingModel: cmp.Or(orZero(r.Body.EmbeddingModel), s.options.EmbeddingModels[0]),
	}
	datastorePatch(DatastorePatch{Name: &r.Body.Name, Description: r.Body.Description, Visibility: r.Body.Visibility, Chunking: r.Body.Chunking, OcrLanguages: r.Body.OcrLanguages}).Apply(&d)
	if err := problem.Invalid(append(d.Chunking.Check(), d.OCRLanguages.Check()...)); err != nil {
		return nil, err
	}
	d, err := idempotency.CreateOnce(ctx,
		func() (domain.Datastore, error) { return s.Datastores.Datastore(ctx, d.WorkspaceID, d.ID) },
		func() (domain.Datastore, error) { return s.Datastores.CreateDatastore(ctx, d) })
	return CreateDatastore201JSONResponse(renderDatastore(d)), err
}

// GetDatastore implements StrictServerInterface.
func (s *server) GetDatastore(ctx context.Context, r GetDatastoreRequestObject) (GetDatastoreResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datastore(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	shown, err := s.showWithDatasources(ctx, d)
	return GetDatastore200JSONResponse(shown), err
}

// UpdateDatastore implements StrictServerInterface.
func (s *server) UpdateDatastore(ctx context.Context, r UpdateDatastoreRequestObject) (UpdateDatastoreResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("datastore", r.Id); err != nil {
		return nil, err
	}
	if err := s.checkEngines(r.Body.Type, r.Body.EmbeddingModel); err != nil {
		return nil, err
	}
	patch := datastorePatch(*r.Body)
	patch.Type, patch.EmbeddingModel = convert[domain.Engine](r.Body.Type), r.Body.EmbeddingModel
	var d domain.Datastore
	var err error
	if patch == (domain.DatastorePatch{}) {
		d, err = s.datastore(ctx, caller, r.Id)
	} else {
		d, err = s.Datastores.UpdateDatastore(ctx, caller.Workspace(), r.Id, patch)
	}
	if err != nil {
		return nil, err
	}
	if patch.Chunking != nil {
		// Queue all content even if the sizes haven't changed, because an earlier run of this request may have stopped
		// before queueing everything. Chunks that already have the right size are kept.
		if _, err := s.replay(ctx, catalog.ReplayFilter{WorkspaceID: caller.Workspace(), DatastoreID: d.ID}); err != nil {
			return nil, err
		}
	}
	shown, err := s.showDatastore(ctx, d)
	return UpdateDatastore200JSONResponse(shown), err
}

// DeleteDatastore implements StrictServerInterface.
func (s *server) DeleteDatastore(ctx context.Context, r DeleteDatastoreRequestObject) (DeleteDatastoreResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("datastore", r.Id); err != nil {
		return nil, err
	}
	d, err := s.Datastores.DeleteDatastore(ctx, caller.Workspace(), r.Id)
	return DeleteDatastore200JSONResponse(renderDatastore(d)), err
}

// datastore returns a datastore from the caller's workspace.
func (s *server) datastore(ctx context.Context, caller access.Caller, id string) (domain.Datastore, error) {
	if err := checkID("datastore", id); err != nil {
		return domain.Datastore{}, err
	}
	return s.Datastores.Datastore(ctx, caller.Workspace(), id)
}

// showDatastore renders a datastore. If it is moving to another engine or embedding model, the result includes the
// progress.
func (s *server) showDatastore(ctx context.Context, d domain.Datastore) (Datastore, error) {
	out := renderDatastore(d)
	if d.Move == nil {
		return out, nil
	}
	p, err := s.Datastores.MoveProgress(ctx, d.ID)
	if err != nil {
		return out, err
	}
	if p.Total == 0 { // the move has just finished
		if d, err = s.Datastores.Datastore(ctx, d.WorkspaceID, d.ID); err != nil || d.Move == nil {
			return renderDatastore(d), err
		}
	}
	out.Move = renderMove(*d.Move, p)
	return out, nil
}

// showWithDatasources renders a datastore with its newest datasources, up to the default page size.
func (s *server) showWithDatasources(ctx context.Context, d domain.Datastore) (Datastore, error) {
	out, err := s.showDatastore(ctx, d)
	if err != nil {
		return out, err
	}
	newest, _, err := s.Datasources.Datasources(ctx, d.WorkspaceID, catalog.DatasourceFilter{DatastoreID: d.ID}, catalog.Page{Limit: catalog.DefaultPageSize})
	if err != nil {
		return out, err
	}
	shown, err := s.renderDatasources(ctx, newest)
	out.Datasources = &shown
	return out, err
}

// checkEngines rejects an engine or embedding model that this server doesn't offer. The error lists the available ones.
func (s *server) checkEngines(engine *Engine, model *string) error {
	var faults []domain.FieldError
	if engine != nil && !slices.Contains(s.options.Engines, domain.Engine(*engine)) {
		names := lists.Map(s.options.Engines, func(e domain.Engine) string { return string(e) })
		faults = append(faults, domain.FieldError{Field: "type", Message: fmt.Sprintf("is %q, which this server does not support; use one of: %s", *engine, strings.Join(names, ", "))})
	}
	if model != nil && !slices.Contains(s.options.EmbeddingModels, *model) {
		faults = append(faults, domain.FieldError{Field: "embeddingModel", Message: fmt.Sprintf("is %q, which this server does not have; use one of: %s", jsonbody.Shorten(*model), strings.Join(s.options.EmbeddingModels, ", "))})
	}
	return problem.Invalid(faults)
}

func datastorePatch(b DatastorePatch) domain.DatastorePatch {
	p := domain.DatastorePatch{Name: trimmed(b.Name), Description: b.Description, Visibility: convert[domain.Visibility](b.Visibility)}
	if c := b.Chunking; c != nil && (c.TargetTokens != nil || c.MaxTokens != nil) {
		p.Chunking = &domain.ChunkingPatch{TargetTokens: c.TargetTokens, MaxTokens: c.MaxTokens}
	}
	if b.OcrLanguages != nil {
		languages := domain.OCRLanguages(strings.Join(*b.OcrLanguages, ","))
		p.OCRLanguages = &languages
	}
	return p
}

// CountDatasources implements StrictServerInterface.
func (s *server) CountDatasources(ctx context.Context, r CountDatasourcesRequestObject) (CountDatasourcesResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("datastore", r.Id); err != nil {
		return nil, err
	}
	n, err := s.Datastores.DatastoreCounts(ctx, caller.Workspace(), r.Id)
	if err != nil {
		return nil, err
	}
	out := CountDatasources200JSONResponse{
		Unsynched: n[domain.StatusUnsynched], Pending: n[domain.StatusPending], Running: n[domain.StatusRunning],
		Synched: n[domain.StatusSynched], Error: n[domain.StatusError], Skipped: n[domain.StatusSkipped],
	}
	for _, of := range n {
		out.Total += of
	}
	return out, nil
}

// GetSearchSettings implements StrictServerInterface.
func (s *server) GetSearchSettings(ctx context.Context, r GetSearchSettingsRequestObject) (GetSearchSettingsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("datastore", r.Id); err != nil {
		return nil, err
	}
	v, err := searchsettings.Get(ctx, s.SearchSettings, caller.Workspace(), r.Id, int64(orZero(r.Params.Version)))
	return writeSearchSettings(v), err
}

// UpdateSearchSettings implements StrictServerInterface.
func (s *server) UpdateSearchSettings(ctx context.Context, r UpdateSearchSettingsRequestObject) (UpdateSearchSettingsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("datastore", r.Id); err != nil {
		return nil, err
	}
	v, err := searchsettings.Put(ctx, s.SearchSettings, caller.Workspace(), r.Id, r.Body, orZero(r.Params.IfMatch))
	return writeSearchSettings(v), err
}

// RestoreSearchSettings implements StrictServerInterface.
func (s *server) RestoreSearchSettings(ctx context.Context, r RestoreSearchSettingsRequestObject) (RestoreSearchSettingsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("datastore", r.Id); err != nil {
		return nil, err
	}
	v, err := searchsettings.Restore(ctx, s.SearchSettings, caller.Workspace(), r.Id, r.Body.Version, orZero(r.Params.IfMatch))
	return writeSearchSettings(v), err
}

// ListSearchSettingsVersions implements StrictServerInterface.
func (s *server) ListSearchSettingsVersions(ctx context.Context, r ListSearchSettingsVersionsRequestObject) (ListSearchSettingsVersionsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("datastore", r.Id); err != nil {
		return nil, err
	}
	all, err := s.SearchSettings.SearchVersions(ctx, caller.Workspace(), r.Id)
	return ListSearchSettingsVersions200JSONResponse{Data: lists.Map(all, func(v domain.SearchSettings) SearchSettingsVersion {
		return SearchSettingsVersion{Version: v.Version, CreatedAt: v.CreatedAt.UTC()}
	})}, err
}

// writeSearchSettings returns a response with a settings version and its ETag.
func writeSearchSettings(v searchsettings.View) responseFunc {
	return func(w http.ResponseWriter) error {
		var at *time.Time
		if v.Version > 0 {
			at = utc(&v.Stored.CreatedAt)
		}
		w.Header().Set("Content-Type", typeJSON)
		w.Header().Set("ETag", searchsettings.ETag(v.Version))
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false) // rules contain =>
		return out.Encode(struct {
			Version   int64      `json:"version"`
			CreatedAt *time.Time `json:"createdAt"`
			settings.Settings
			Warnings []domain.FieldError `json:"warnings"`
		}{v.Version, at, v.Settings, append([]domain.FieldError{}, v.Warnings...)})
	}
}
