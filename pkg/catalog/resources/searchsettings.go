package resources

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

// SearchSettings returns a version of a datastore's search settings, where 0 means the current one. If there are no
// settings, the result has version 0 and no JSON.
func (c *Resources) SearchSettings(ctx context.Context, ws, id string, version int64) (domain.SearchSettings, error) {
	d, err := record.DatastoreOf(ctx, c.db.Read, ws, id, "")
	if err != nil {
		return domain.SearchSettings{}, err
	}
	if version == 0 {
		if version = d.SearchVersion; version == 0 {
			return domain.SearchSettings{}, nil
		}
	}
	return c.searchSettings(ctx, id, version)
}

// SearchSettingsOf returns a version of a datastore's search settings as JSON, for queries.
func (c *Resources) SearchSettingsOf(ctx context.Context, id string, version int64) ([]byte, error) {
	s, err := c.searchSettings(ctx, id, version)
	return s.JSON, err
}

func (c *Resources) searchSettings(ctx context.Context, id string, version int64) (domain.SearchSettings, error) {
	s := domain.SearchSettings{Version: version}
	var text string
	var at int64
	err := c.db.Read.QueryRow(ctx, `SELECT settings, created_at FROM search_settings WHERE datastore_id = ? AND version = ?`, id, version).Scan(&text, &at)
	s.JSON, s.CreatedAt = []byte(text), db.FromMicros(at)
	return s, db.MapNotFound(err, "version of the search settings", fmt.Sprint(version))
}

// SearchVersions lists the stored versions of a datastore's search settings, newest first.
func (c *Resources) SearchVersions(ctx context.Context, ws, id string) ([]domain.SearchSettings, error) {
	if _, err := record.DatastoreOf(ctx, c.db.Read, ws, id, ""); err != nil {
		return nil, err
	}
	scan := func(s db.Scanner) (v domain.SearchSettings, err error) {
		var at int64
		err = s.Scan(&v.Version, &at)
		v.CreatedAt = db.FromMicros(at)
		return v, err
	}
	all, err := db.Collect(ctx, c.db.Read, scan, `SELECT version, created_at FROM search_settings WHERE datastore_id = ? ORDER BY version DESC`, id)
	if err != nil {
		return nil, fmt.Errorf("listing versions of search settings: %w", err)
	}
	return all, nil
}

// StoreSearchSettings stores a new version of a datastore's search settings and makes it the current one. Only the
// newest `keep` versions are kept. If match is not nil, it must be the current version's number, or 0 if there is none;
// otherwise, StoreSearchSettings fails with domain.CodeConflict.
func (c *Resources) StoreSearchSettings(ctx context.Context, ws, id string, settings []byte, match *int64, keep int) (domain.SearchSettings, error) {
	s := domain.SearchSettings{JSON: settings}
	err := c.db.Update(ctx, "storing search settings", func(t *db.Tx) error {
		d, err := record.DatastoreOf(ctx, t, ws, id, t.Lock)
		if err != nil {
			return err
		}
		if match != nil && *match != d.SearchVersion {
			return domain.Errorf(domain.CodeConflict, "If-Match names version %d of the search settings, but version %d is in use; read the settings again and repeat the change",
				*match, d.SearchVersion)
		}
		at := c.db.Stamp()
		d.SearchVersion++
		s.Version, s.CreatedAt, d.UpdatedAt = d.SearchVersion, db.FromMicros(at), db.FromMicros(at)
		if _, err := t.Exec(ctx, `INSERT INTO search_settings (datastore_id, version, settings, created_at) VALUES (?, ?, ?, ?)`, id, s.Version, string(settings), at); err != nil {
			return fmt.Errorf("storing a version: %w", err)
		}
		if _, err := t.Exec(ctx, `DELETE FROM search_settings WHERE datastore_id = ? AND version <= ?`, id, s.Version-int64(keep)); err != nil {
			return fmt.Errorf("removing old versions: %w", err)
		}
		return record.StoreDatastore(ctx, t, d)
	})
	return s, err
}
