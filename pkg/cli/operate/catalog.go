package operate

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/domain"
)

// openCatalog opens the configured catalog for a command that may run alongside the service. A non-empty dir overrides
// the data directory.
func openCatalog(ctx context.Context, environ []string, dir string) (*catalog.Catalog, error) {
	if dir != "" {
		environ = append(environ, "SLUICE_DATA_DIR="+dir)
	}
	c, err := config.ParseEnviron(environ)
	if err != nil {
		return nil, cli.WithExit(cli.Misused, err)
	}
	o := catalog.Options{URL: c.DatabaseURL, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	if o.URL == "" {
		o.Path = filepath.Join(c.DataDir, datadir.Catalog)
		if _, err := os.Stat(o.Path); err != nil {
			return nil, fmt.Errorf("data directory %q has no catalog: start the service once, or set SLUICE_DATA_DIR or DATABASE_URL", c.DataDir)
		}
	}
	return catalog.Open(ctx, o)
}

// findDatastore returns the id of the datastore with this id or name, in any workspace.
func findDatastore(ctx context.Context, c *catalog.Catalog, wanted string) (id string, err error) {
	if cli.IsID(wanted) {
		d, err := c.DatastoreByID(ctx, wanted)
		return d.ID, err
	}
	return cli.Find("datastore", wanted, func(add func(cli.Named)) error {
		return c.EachDatastore(ctx, func(d domain.Datastore) error {
			add(cli.Named{ID: d.ID, Name: d.Name, Workspace: d.WorkspaceID})
			return nil
		})
	})
}
