package retrieve

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/boost"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/searchsettings"
)

// SettingsReader provides the settings for searches in a datastore.
type SettingsReader interface {
	// Settings returns a version of a datastore's settings, or domain.CodeNotFound if that version is no longer stored.
	Settings(ctx context.Context, datastoreID string, version int64) (*searchsettings.Compiled, error)
}

// control holds the settings of the request's datastores, and the documents that their pins show first or hide for the
// query.
type control struct {
	settings map[string]*searchsettings.Compiled // by datastore; no entry if there are none
	pinned   []pinned
	blocked  map[string]bool // ids of hidden datasources
}

// controlOf reads the settings of the request's datastores and finds the pins that match the query.
func (r *Retriever) controlOf(ctx context.Context, req Request) (control, error) {
	var c control
	if r.deps.Settings == nil {
		return c, nil
	}
	for i := range req.Datastores {
		ds := &req.Datastores[i]
		if ds.SearchVersion == 0 {
			continue
		}
		s, err := r.deps.Settings.Settings(ctx, ds.ID, ds.SearchVersion)
		if domain.CodeOf(err) == domain.CodeNotFound { // the datastore is deleted or has many newer versions
			continue
		}
		if err != nil {
			return c, fmt.Errorf("reading the search settings of datastore %q: %w", ds.ID, err)
		}
		if c.settings == nil {
			c.settings = make(map[string]*searchsettings.Compiled)
		}
		c.settings[ds.ID] = s
		if err := r.addPins(ctx, &c, ds, req); err != nil {
			return c, err
		}
	}
	return c, nil
}

// boosts returns the boosts that apply to a datastore: the request's own or, if nil, those in the datastore's settings.
func (req *Request) boosts(ds *domain.Datastore) []boost.Boost {
	if req.Boosts != nil {
		return req.Boosts
	}
	if s := req.control.settings[ds.ID]; s != nil {
		return s.Boosts
	}
	return nil
}

// allRules returns all datastores' synonyms and stop words, or nil. Stop words apply only if all datastores have them.
func (req *Request) allRules() *analysis.Rules {
	all := lists.Map(req.Datastores, func(ds domain.Datastore) *analysis.Rules { return req.rules(&ds) })
	if slices.ContainsFunc(all, func(r *analysis.Rules) bool { return r != nil }) && slices.Contains(all, nil) {
		all = append(all, analysis.NewRules(nil, nil, nil)) // empty rules for the other datastores
	}
	return analysis.JoinRules(all...)
}

// rules returns a datastore's synonyms and stop words, or nil.
func (req *Request) rules(ds *domain.Datastore) *analysis.Rules {
	if s := req.control.settings[ds.ID]; s != nil {
		return s.Rules
	}
	return nil
}
