package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// DatasourceStore reads and writes datasources. It stores each change together with the job it requires.
type DatasourceStore interface {
	// CreateDatasources creates all datasources or none.
	CreateDatasources(ctx context.Context, in []catalog.NewDatasource) ([]domain.Datasource, error)
	Datasource(ctx context.Context, ws, id string) (domain.Datasource, error)
	Datasources(ctx context.Context, ws string, f catalog.DatasourceFilter, p catalog.Page) ([]domain.Datasource, string, error)
	// Describe changes a datasource's name and metadata.
	Describe(ctx context.Context, ws, id string, d catalog.Description, job domain.Job) (domain.Datasource, error)
	DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error)
}

// ListDatasources implements StrictServerInterface.
func (s *server) ListDatasources(ctx context.Context, r ListDatasourcesRequestObject) (ListDatasourcesResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	p := r.Params
	f := catalog.DatasourceFilter{
		DatastoreID: orZero(p.DatastoreId), GroupID: orZero(p.GroupId), CustomID: orZero(p.CustomId), Search: orZero(p.Search),
		Status: domain.Status(orZero(p.Status)), Type: domain.DatasourceType(orZero(p.Type)),
	}
	datasources, next, err := s.Datasources.Datasources(ctx, caller.Workspace(), f, pageOf(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	shown, err := s.renderDatasources(ctx, datasources)
	return ListDatasources200JSONResponse{Data: shown, NextCursor: optional(next)}, err
}

// CreateDatasource implements StrictServerInterface.
func (s *server) CreateDatasource(ctx context.Context, r CreateDatasourceRequestObject) (CreateDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	var d domain.Datasource
	var err error
	if r.MultipartBody != nil {
		d, err = s.upload(ctx, caller, r.MultipartBody)
	} else {
		d, err = s.createFromJSON(ctx, caller, *r.JSONBody)
	}
	return CreateDatasource201JSONResponse(renderDatasource(d)), err
}

// UploadDatasource implements StrictServerInterface.
func (s *server) UploadDatasource(ctx context.Context, r UploadDatasourceRequestObject) (UploadDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.upload(ctx, caller, r.Body)
	return UploadDatasource201JSONResponse(renderDatasource(d)), err
}

func (s *server) createFromJSON(ctx context.Context, caller access.Caller, body DatasourceCreate) (domain.Datasource, error) {
	store, err := s.datastore(ctx, caller, body.DatastoreId)
	if err != nil {
		return domain.Datasource{}, err
	}
	d := s.newDatasource(ctx, store, domain.DatasourceType(body.Type), 0)
	d.Name = strings.TrimSpace(orZero(body.Name))
	d.CustomID = orZero(body.CustomId)
	d.Metadata = orZero(body.Metadata)
	c := orZero(body.Config)
	d.CustomID = cmp.Or(d.CustomID, orZero(c.CustomId), customIDIn(d.Metadata))
	d.Config.CustomID = d.CustomID
	if d.Type == domain.TypeQA {
		d.Config.Question, d.Config.SourceURL = strings.TrimSpace(*c.Question), strings.TrimSpace(orZero(c.SourceUrl))
		d.Name = cmp.Or(d.Name, titleOf(d.Config.Question))
		return s.createWithOriginal(ctx, store, d, textType, strings.NewReader(d.Config.Question+"\n\n"+strings.TrimSpace(*c.Answer)))
	}
	if d.Type == domain.TypeText {
		if d.Name == "" {
			d.Name = titleOf(*c.Text)
		}
		return s.createWithOriginal(ctx, store, d, textType, strings.NewReader(*c.Text))
	}
	configureCrawl(&d, c)
	if d.Config.Access, err = s.seal(d, orZero(c.Headers)); err != nil {
		return domain.Datasource{}, err
	}
	created, err := idempotency.CreateOnce(ctx, s.findExisting(ctx, d), func() (domain.Datasource, error) {
		if err := s.Usage.CheckStorage(ctx, d.WorkspaceID); err != nil {
			return domain.Datasource{}, err
		}
		return s.createOne(ctx, d, domain.NewCrawlJob(d, store))
	})
	if err == nil && d.Config.Refresh != "" && s.Scheduled != nil {
		s.Scheduled()
	}
	return created, err
}

// newDatasource returns a new, empty datasource for the datastore. If a request creates several datasources, each must
// have a different n.
func (s *server) newDatasource(ctx context.Context, store domain.Datastore, kind domain.DatasourceType, n int) domain.Datasource {
	return domain.Datasource{ID: idempotency.ID(ctx, s.NewID, "datasource", strconv.Itoa(n)), WorkspaceID: store.WorkspaceID, DatastoreID: store.ID, Type: kind, Status: domain.StatusUnsynched}
}

func (s *server) createOne(ctx context.Context, d domain.Datasource, job domain.Job) (domain.Datasource, error) {
	created, err := s.Datasources.CreateDatasources(ctx, []catalog.NewDatasource{{Datasource: d, Job: job, Priority: catalog.PriorityFresh}})
	if err != nil {
		return domain.Datasource{}, err
	}
	s.Watcher.Changed(d.DatastoreID, d.ID)
	return created[0], nil
}

// findExisting returns a function that reads the datasource d from the catalog. A retried request uses it to find the
// datasource that an earlier run created.
func (s *server) findExisting(ctx context.Context, d domain.Datasource) func() (domain.Datasource, error) {
	return func() (domain.Datasource, error) { return s.Datasources.Datasource(ctx, d.WorkspaceID, d.ID) }
}

// GetDatasource implements StrictServerInterface.
func (s *server) GetDatasource(ctx context.Context, r GetDatasourceRequestObject) (GetDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	shown, err := s.renderDatasource(ctx, d)
	return GetDatasource200JSONResponse(shown), err
}

// DeleteDatasource implements StrictServerInterface.
func (s *server) DeleteDatasource(ctx context.Context, r DeleteDatasourceRequestObject) (DeleteDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	was, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	shown, err := s.renderDatasource(ctx, was) // before the deletion, while a site's pages can still be counted
	if err != nil {
		return nil, err
	}
	d, err := s.Datasources.DeleteDatasource(ctx, caller.Workspace(), r.Id)
	if err != nil {
		return nil, err
	}
	s.Watcher.Changed(d.DatastoreID, d.ID)
	return DeleteDatasource200JSONResponse(shown), nil
}

// datasource returns a datasource from the caller's workspace.
func (s *server) datasource(ctx context.Context, caller access.Caller, id string) (domain.Datasource, error) {
	if err := checkID("datasource", id); err != nil {
		return domain.Datasource{}, err
	}
	return s.Datasources.Datasource(ctx, caller.Workspace(), id)
}

// titleOf returns a title for a text: its first line, shortened.
func titleOf(text string) string {
	const limit = 80
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(strings.TrimSpace(line))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// detachedContext returns a context for work that must finish even if the client disconnects.
func detachedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

// DeleteDatasources implements StrictServerInterface. It deletes each datasource separately, so a request retried after
// a failure deletes the remaining ones.
func (s *server) DeleteDatasources(ctx context.Context, r DeleteDatasourcesRequestObject) (DeleteDatasourcesResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	out := DeleteDatasources200JSONResponse{Deleted: []string{}, NotFound: []string{}}
	seen := map[string]bool{}
	for _, id := range r.Body.Ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		err := checkID("datasource", id)
		var d domain.Datasource
		if err == nil {
			d, err = s.Datasources.DeleteDatasource(ctx, caller.Workspace(), id)
		}
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			out.NotFound = append(out.NotFound, id)
		case err != nil:
			return nil, err
		default:
			s.Watcher.Changed(d.DatastoreID, d.ID)
			s.audit.Record(ctx, "DeleteDatasource", caller, access.Host(caller.Remote), slog.String("resource", d.ID), slog.Int("status", http.StatusOK))
			out.Deleted = append(out.Deleted, id)
		}
	}
	return out, nil
}

// SynchDatasource implements StrictServerInterface.
func (s *server) SynchDatasource(ctx context.Context, r SynchDatasourceRequestObject) (SynchDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	kind := domain.JobIngest
	if isWeb(d) {
		kind = domain.JobCrawl
	}
	if err := s.requeue(ctx, d, kind, catalog.PriorityFresh); err != nil {
		return nil, err
	}
	if d, err = s.datasource(ctx, caller, r.Id); err != nil {
		return nil, err
	}
	shown, err := s.renderDatasource(ctx, d)
	return SynchDatasource200JSONResponse(shown), err
}
