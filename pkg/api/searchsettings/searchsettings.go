// Package searchsettings implements the endpoints for a datastore's search settings: reading them, replacing them and
// listing versions.
package searchsettings

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/searchsettings"
)

// Store stores search settings versions. The catalog implements it.
type Store interface {
	SearchSettings(ctx context.Context, ws, id string, version int64) (domain.SearchSettings, error)
	SearchVersions(ctx context.Context, ws, id string) ([]domain.SearchSettings, error)
	StoreSearchSettings(ctx context.Context, ws, id string, settings []byte, match *int64, keep int) (domain.SearchSettings, error)
	searchsettings.Datasources
}

// View is one version of the settings as clients see it.
type View struct {
	searchsettings.Settings
	Version  int64 // 0 means the datastore has no settings
	Stored   domain.SearchSettings
	Warnings []domain.FieldError // documents that do not exist
}

// Get returns one version of a datastore's settings, or the current version if `version` is 0.
func Get(ctx context.Context, s Store, ws, id string, version int64) (View, error) {
	stored, err := s.SearchSettings(ctx, ws, id, version)
	if err != nil {
		return View{}, err
	}
	return view(ctx, s, id, stored)
}

func view(ctx context.Context, s Store, id string, stored domain.SearchSettings) (View, error) {
	out := View{Settings: searchsettings.Empty(), Version: stored.Version, Stored: stored}
	if stored.Version == 0 {
		return out, nil
	}
	var faults []domain.FieldError
	if out.Settings, faults = searchsettings.Parse(stored.JSON); len(faults) > 0 {
		return out, fmt.Errorf("decoding version %d of the search settings: %s %s", stored.Version, faults[0].Field, faults[0].Message)
	}
	var err error
	out.Warnings, err = out.Missing(ctx, s, id)
	return out, err
}

// Put stores new settings. `body` holds them in the API's format, and ifMatch is the If-Match header, or "".
func Put(ctx context.Context, s Store, ws, id string, body any, ifMatch string) (View, error) {
	match, err := versionOf(ifMatch)
	if err != nil {
		return View{}, err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return View{}, fmt.Errorf("encoding search settings: %w", err)
	}
	settings, faults := searchsettings.Parse(data)
	if err := problem.Invalid(faults); err != nil {
		return View{}, err
	}
	return put(ctx, s, ws, id, settings, match)
}

func put(ctx context.Context, s Store, ws, id string, settings searchsettings.Settings, match *int64) (View, error) {
	data, err := settings.Encode()
	if err != nil {
		return View{}, err
	}
	stored, err := s.StoreSearchSettings(ctx, ws, id, data, match, searchsettings.MaxVersions)
	if err != nil {
		return View{}, err
	}
	return view(ctx, s, id, stored)
}

// Restore stores an older version's content as a new version.
func Restore(ctx context.Context, s Store, ws, id string, version int64, ifMatch string) (View, error) {
	match, err := versionOf(ifMatch)
	if err != nil {
		return View{}, err
	}
	old, err := s.SearchSettings(ctx, ws, id, version)
	if err != nil {
		return View{}, err
	}
	settings, faults := searchsettings.Parse(old.JSON)
	if err := problem.Invalid(faults); err != nil {
		return View{}, err
	}
	return put(ctx, s, ws, id, settings, match)
}

// etagPattern matches a version's ETag, even if it's weak or unquoted. The OpenAPI document has the same pattern.
var etagPattern = lazyregexp.New(`^(?:(?:W/)?"([0-9]{1,18})"|([0-9]{1,18}))$`)

// versionOf returns the version in an If-Match header, or nil if it names none.
func versionOf(ifMatch string) (*int64, error) {
	if ifMatch == "" || ifMatch == "*" {
		return nil, nil
	}
	found := etagPattern().FindStringSubmatch(ifMatch)
	if found == nil {
		return nil, domain.Invalid("If-Match", "is %.40q; it must be the ETag from a response, such as %q", ifMatch, ETag(3))
	}
	n, err := strconv.ParseInt(found[1]+found[2], 10, 64)
	return &n, err // nil: 18 digits are no overflow
}

// ETag returns a version's ETag.
func ETag(version int64) string { return fmt.Sprintf("%q", strconv.FormatInt(version, 10)) }
