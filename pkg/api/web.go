package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// SiteStore reads and changes crawl settings and progress.
type SiteStore interface {
	// UpdateWebConfig changes how a web page or site is fetched, starting with its next fetch.
	UpdateWebConfig(ctx context.Context, ws, id string, p domain.WebPatch) (domain.Datasource, error)
	// StopCrawl ends the crawl of a site or page. Its content stays searchable.
	StopCrawl(ctx context.Context, ws, id string) (domain.Datasource, error)
	// SiteProgress returns the number of pages in each state, by site id.
	SiteProgress(ctx context.Context, siteIDs ...string) (map[string]domain.SiteProgress, error)
}

// UpdateDatasource implements StrictServerInterface.
func (s *server) UpdateDatasource(ctx context.Context, r UpdateDatasourceRequestObject) (UpdateDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	var web *domain.WebPatch
	if c := r.Body.Config; c != nil {
		web = &domain.WebPatch{Refresh: trimmed(c.Refresh), Include: c.Include, Exclude: c.Exclude, MaxPages: c.MaxPages, MaxDepth: c.MaxDepth}
	}
	if c := r.Body.Config; c != nil && c.Headers != nil {
		access, err := s.seal(d, *c.Headers)
		if err != nil {
			return nil, err
		}
		web.Access = &domain.AccessPatch{To: access}
	}
	if r.Body.Name != nil || r.Body.Metadata != nil {
		d, err = s.describe(ctx, d, *r.Body, web)
	} else if web != nil {
		d, err = s.Sites.UpdateWebConfig(ctx, caller.Workspace(), r.Id, *web)
	}
	if err != nil {
		return nil, err
	}
	if web != nil && web.Refresh != nil && s.Scheduled != nil {
		s.Scheduled()
	}
	s.Watcher.Changed(d.DatastoreID, d.ID)
	shown, err := s.renderDatasource(ctx, d)
	return UpdateDatasource200JSONResponse(shown), err
}

// configureCrawl sets how a page or site is fetched. Pages ignore the site-only settings.
func configureCrawl(d *domain.Datasource, c DatasourceConfigCreate) {
	d.Config.SourceURL = strings.TrimSpace(orZero(c.SourceUrl))
	d.Config.Refresh = strings.TrimSpace(orZero(c.Refresh))
	if d.Type == domain.TypeWebSite {
		d.Config.Sitemap = strings.TrimSpace(orZero(c.Sitemap))
		d.Config.Include, d.Config.Exclude = orZero(c.Include), orZero(c.Exclude)
		d.Config.MaxPages, d.Config.MaxDepth = orZero(c.MaxPages), orZero(c.MaxDepth)
	}
	d.Name = cmp.Or(d.Name, d.Config.SourceURL)
	d.Name = cmp.Or(d.Name, d.Config.Sitemap)
}

// describe changes a datasource's name, metadata and, unless web is nil, fetch settings.
func (s *server) describe(ctx context.Context, d domain.Datasource, body DatasourcePatch, web *domain.WebPatch) (domain.Datasource, error) {
	n := catalog.Description{Name: trimmed(body.Name), Web: web}
	if body.Metadata != nil {
		if d.Type.IsGroup() {
			return d, domain.Errorf(domain.CodeConflict, "datasource %q has the type %s, whose metadata cannot be changed; change the metadata of its pages or files instead", d.ID, d.Type)
		}
		metadata, customID := metadataOf(&Document_Metadata{CustomId: body.Metadata.CustomId, AdditionalProperties: body.Metadata.AdditionalProperties})
		n.Metadata, n.CustomID = &metadata, optional(customID)
	}
	job, err := s.Jobs.NewJob(ctx, d, domain.JobIngest)
	if err != nil {
		return d, err
	}
	return s.Datasources.Describe(ctx, d.WorkspaceID, d.ID, n, job)
}

// StopDatasource implements StrictServerInterface.
func (s *server) StopDatasource(ctx context.Context, r StopDatasourceRequestObject) (StopDatasourceResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	if !isWeb(d) {
		return nil, domain.Errorf(domain.CodeConflict, "datasource %q is a %s and is not crawled, so there is nothing to stop", d.ID, d.Type)
	}
	if d, err = s.Sites.StopCrawl(ctx, caller.Workspace(), d.ID); err != nil {
		return nil, err
	}
	s.Watcher.Changed(d.DatastoreID, d.ID)
	shown, err := s.renderDatasource(ctx, d)
	return StopDatasource200JSONResponse(shown), err
}

func (s *server) renderDatasource(ctx context.Context, d domain.Datasource) (out Datasource, err error) {
	all, err := s.renderDatasources(ctx, []domain.Datasource{d})
	if err == nil {
		out = all[0]
	}
	return out, err
}

// renderDatasources renders datasources. Sites include their crawls' progress.
func (s *server) renderDatasources(ctx context.Context, ds []domain.Datasource) ([]Datasource, error) {
	var sites []string
	for _, d := range ds {
		if d.Crawl != nil {
			sites = append(sites, d.ID)
		}
	}
	var progress map[string]domain.SiteProgress
	if len(sites) > 0 {
		var err error
		if progress, err = s.Sites.SiteProgress(ctx, sites...); err != nil {
			return nil, err
		}
	}
	out := make([]Datasource, len(ds))
	for i, d := range ds {
		out[i] = renderDatasource(d)
		if d.Crawl != nil {
			out[i].Crawl = renderCrawl(*d.Crawl, progress[d.ID])
		}
	}
	return out, nil
}

func renderCrawl(c domain.Crawl, p domain.SiteProgress) *CrawlProgress {
	out := &CrawlProgress{
		StartedAt: c.StartedAt.UTC(), Discovered: p.Discovered, Waiting: p.Waiting, Fetched: p.Fetched, Unchanged: p.Unchanged,
		Skipped: p.Skipped, Failed: p.Failed, Removed: p.Removed, Stopped: c.Stopped(), LeftOut: map[string]int{},
	}
	for why, n := range c.LeftOut {
		out.LeftOut[why] = n
	}
	return out
}

// seal encrypts a web datasource's headers, or returns nil if there are none.
func (s *server) seal(d domain.Datasource, headers map[string]string) (*domain.SiteAccess, error) {
	switch {
	case len(headers) == 0:
		return nil, nil
	case !isWeb(d):
		return nil, domain.Invalid("config.headers", "only apply to a web_page or web_site; datasource %s is a %s", d.ID, d.Type)
	case s.Sealer == nil:
		return nil, domain.Invalid("config.headers", "cannot be stored because the service has no key to encrypt them; the operator must set the same SLUICE_SECRET_KEY in every api and crawler process")
	}
	clean, faults := domain.CleanHeaders("config.headers", headers)
	if len(faults) > 0 {
		return nil, &domain.Error{Code: domain.CodeInvalid, Message: faults[0].Field + " " + faults[0].Message, Fields: faults}
	}
	access, err := s.Sealer.Seal(d.WorkspaceID, cmp.Or(d.Config.SourceURL, d.Config.Sitemap), clean)
	if err != nil {
		return nil, fmt.Errorf("encrypting the headers of datasource %s: %w", d.ID, err)
	}
	return access, nil
}
