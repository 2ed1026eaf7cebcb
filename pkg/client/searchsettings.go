package client

import (
	"context"
	"fmt"
	"strconv"
)

// SearchSettings returns a datastore's search settings: synonyms, stop words, boosts and pins. `version` selects an
// older version; 0 means the one in use.
func (c *Client) SearchSettings(ctx context.Context, datastoreID string, version int) (*SearchSettings, error) {
	if err := check(datastoreID); err != nil {
		return nil, err
	}
	var p GetSearchSettingsParams
	if version != 0 {
		p.Version = &version
	}
	return decodeOne[SearchSettings](c.endpoints.GetSearchSettings(ctx, datastoreID, &p))
}

// UpdateSearchSettings replaces a datastore's search settings. `based` is the version that the change is based on. If
// another version is now in use, the error code is CodeConflict. A negative number skips this check.
func (c *Client) UpdateSearchSettings(ctx context.Context, datastoreID string, based int64, s SearchSettingsUpdate) (*SearchSettings, error) {
	var p UpdateSearchSettingsParams
	if based >= 0 {
		tag := fmt.Sprintf("%q", strconv.FormatInt(based, 10))
		p.IfMatch = &tag
	}
	return postByID[UpdateSearchSettingsParams, SearchSettingsUpdate, SearchSettings](ctx, datastoreID, &p, s, c.endpoints.UpdateSearchSettings)
}

// SearchSettingsVersions lists the stored versions of a datastore's search settings, newest first.
func (c *Client) SearchSettingsVersions(ctx context.Context, datastoreID string) ([]SearchSettingsVersion, error) {
	all, err := callByID[SearchSettingsVersions](ctx, datastoreID, c.endpoints.ListSearchSettingsVersions)
	return value(all).Data, err
}

// RestoreSearchSettings stores an older version of a datastore's search settings as a new one.
func (c *Client) RestoreSearchSettings(ctx context.Context, datastoreID string, version int64) (*SearchSettings, error) {
	return postByID[RestoreSearchSettingsParams, SearchSettingsRestore, SearchSettings](ctx, datastoreID, &RestoreSearchSettingsParams{}, SearchSettingsRestore{Version: version},
		c.endpoints.RestoreSearchSettings)
}
