package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/domain"
)

// refusedForNow checks that the response reports a temporary failure and says how long to wait.
func refusedForNow(t *testing.T, a *response) {
	t.Helper()
	if p := a.problem(503); p.Error != string(domain.CodeUnavailable) || a.header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", a.body, a.header.Get("Retry-After"))
	}
}

func TestAnUploadThatFailsOnAFullDiskLeavesNothing(t *testing.T) {
	t.Parallel()
	var dir string
	s := newService(t, func(o *api.Options, _ *api.Deps) {
		dir = filepath.Join(o.TempDir, "gone")
		o.TempDir = dir
	})
	datastore := s.newDatastore()
	send := func() *response {
		return s.upload(part{name: "datastoreId", text: datastore}, part{"file", "note.txt", "The trial lasts 30 days."})
	}
	refusedForNow(t, send())
	if all := s.call("GET", "/datasources?datastoreId="+datastore, nil).want(200).object().list("data"); len(all) != 0 {
		t.Errorf("%v is left", all)
	}
	must(t, os.Mkdir(dir, 0o700))
	send().want(201)
}

// silentKeys is a key store that never responds.
type silentKeys struct{ access.KeyFinder }

func (silentKeys) KeyByHash(ctx context.Context, _ string) (domain.APIKey, error) {
	<-ctx.Done()
	return domain.APIKey{}, ctx.Err()
}

func TestTheLookupOfAKeyHasATimeout(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, d *api.Deps) {
		o.KeyTimeout = 20 * time.Millisecond
		d.KeyFinder = silentKeys{d.KeyFinder}
	})
	refusedForNow(t, s.call("POST", "/datastores", object{"name": "Handbook"}))
}
