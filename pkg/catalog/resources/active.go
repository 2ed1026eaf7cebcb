package resources

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// ActiveOf returns what retrieval needs to know about each datasource, or nil for a datasource that doesn't exist.
// Retrieval must drop a hit if its datasource is missing, its place is not Place, or its generation is not
// ActiveGeneration. Place and ActiveGeneration are always consistent, because a move changes both in one transaction.
// The results are shared; don't modify them.
func (c *Resources) ActiveOf(ctx context.Context, datasourceIDs []string) ([]*domain.ActiveDatasource, error) {
	out := make([]*domain.ActiveDatasource, len(datasourceIDs))
	if c.db.IsShared() {
		return out, c.readActive(ctx, datasourceIDs, out, nil)
	}
	missing, version := c.cache.getDatasources(datasourceIDs, out)
	if missing == 0 {
		return out, nil
	}
	var read []sizedDatasource
	if err := c.readActive(ctx, datasourceIDs, out, &read); err != nil {
		return nil, err
	}
	if missing < len(datasourceIDs) && c.cache.commits.Load() != version { // mixed versions, so read everything again
		clear(out)
		return out, c.readActive(ctx, datasourceIDs, out, nil)
	}
	c.cache.putDatasources(version, read)
	return out, nil
}

// ClearIdleCache clears the query cache if the cache hasn't been used since the last call. It returns the approximate
// number of bytes freed. Call it periodically.
func (c *Resources) ClearIdleCache() int64 { return c.cache.clearIdle() }

// readActive fills in the elements of out that are nil. If found is not nil, it appends the datasources it has read.
func (c *Resources) readActive(ctx context.Context, ids []string, out []*domain.ActiveDatasource, found *[]sizedDatasource) error {
	at := make(map[string]int, len(ids))
	var missing []string
	for i, id := range ids {
		if out[i] == nil {
			at[id], missing = i, append(missing, id)
		}
	}
	err := db.InLists(c.db.Read, missing, func(in string, args []any) error {
		items, err := db.Collect(ctx, c.db.Read, scanActive, `SELECT d.id, d.datastore_id, d.group_id, d.type, d.name, d.custom_id,
			d.active_generation, d.config, d.metadata, d.file_id, d.created_at, s.type, s.embedding_model
			FROM datasources d JOIN datastores s ON s.id = d.datastore_id AND s.deleted_at = 0 WHERE d.id `+in+` AND d.`+record.NotOfDeletedSite, args...)
		if err != nil {
			return fmt.Errorf("reading active generations: %w", err)
		}
		for _, a := range items {
			out[at[a.ID]] = a.ActiveDatasource
		}
		if found != nil {
			*found = append(*found, items...)
		}
		return nil
	})
	for i, id := range ids { // an id may occur twice
		if out[i] == nil {
			out[i] = out[at[id]]
		}
	}
	return err
}

// sizedDatasource is a datasource together with its approximate size in memory.
type sizedDatasource struct {
	*domain.ActiveDatasource
	bytes int64
}

func scanActive(s db.Scanner) (sizedDatasource, error) {
	a := sizedDatasource{ActiveDatasource: &domain.ActiveDatasource{}}
	var generation, createdAt int64
	var config, metadata, fileID string
	err := s.Scan(&a.ID, &a.DatastoreID, &a.GroupID, &a.Type, &a.Name, &a.CustomID, &generation, &config, &metadata, &fileID, &createdAt,
		&a.Place.Engine, &a.Place.Model)
	if err != nil {
		return a, err
	}
	const fixed, perField = 512, 4 // decoded JSON takes several times as much memory as its text
	a.bytes = int64(fixed + len(a.Name) + len(a.CustomID) + perField*(len(config)+len(metadata)))
	a.ActiveGeneration, a.CreatedAt = uint64(generation), db.FromMicros(createdAt)
	// These strings are interned, because a query compares them with its datastore's strings for each hit.
	a.DatastoreID, a.Place.Engine, a.Place.Model = record.Interned(a.DatastoreID), record.Interned(a.Place.Engine), record.Interned(a.Place.Model)
	var read domain.DatasourceConfig
	if err := db.FromJSON(config, &read); err != nil {
		return a, err
	}
	a.MIMEType, a.SourceURL, a.FileName, a.FileID, a.Document = read.MIMEType, read.SourceURL, read.FileName, fileID, read.Document
	a.ChangedAt = read.ChangedAt
	return a, db.FromJSON(metadata, &a.Metadata)
}

// ResolveFilters returns the ids of the datastores' datasources that match the filter's CustomIDs and DatasourceIDs. A
// site includes its pages, and an archive its files. An empty field matches everything. If both fields are empty, the
// result is nil; if nothing matches, it is an empty list. Metadata is ignored, because the index applies it.
func (c *Resources) ResolveFilters(ctx context.Context, datastoreIDs []string, f domain.Filters) ([]string, error) {
	if len(f.CustomIDs) == 0 && len(f.DatasourceIDs) == 0 {
		return nil, nil
	}
	selected := map[string]int{} // maps each id to the number of fields it matches
	if err := c.resolve(ctx, selected, datastoreIDs, `id`, f.DatasourceIDs); err != nil {
		return nil, err
	}
	if err := c.resolve(ctx, selected, datastoreIDs, `custom_id`, f.CustomIDs); err != nil {
		return nil, err
	}
	need := 1
	if len(f.CustomIDs) > 0 && len(f.DatasourceIDs) > 0 {
		need = 2
	}
	out := []string{}
	for id, n := range selected {
		if n == need {
			out = append(out, id)
		}
	}
	return out, nil
}

// resolve finds datasources that have one of the values in the column, including the pages of matching sites. It adds 1
// to selected[id] for each of them, so the caller can tell which datasources match several conditions.
func (c *Resources) resolve(ctx context.Context, selected map[string]int, datastoreIDs []string, column string, values []string) error {
	type match struct{ id, kind string }
	scan := db.Scan(func(m *match) []any { return []any{&m.id, &m.kind} })
	matched := map[string]bool{}
	find := func(column, store string, values []string) (sites []string, err error) {
		err = db.InLists(c.db.Read, values, func(in string, args []any) error {
			found, err := db.Collect(ctx, c.db.Read, scan, `SELECT id, type FROM datasources
				WHERE datastore_id = ? AND `+column+` <> '' AND `+column+` `+in+` AND `+record.NotOfDeletedSite, append([]any{store}, args...)...)
			for _, m := range found {
				matched[m.id] = true
				if domain.DatasourceType(m.kind).IsGroup() {
					sites = append(sites, m.id)
				}
			}
			return err
		})
		return sites, err
	}
	for _, store := range datastoreIDs {
		sites, err := find(column, store, values)
		if err != nil {
			return fmt.Errorf("resolving filters: %w", err)
		}
		if _, err := find(`group_id`, store, sites); err != nil {
			return fmt.Errorf("resolving filters: %w", err)
		}
	}
	for id := range matched {
		selected[id]++
	}
	return nil
}
