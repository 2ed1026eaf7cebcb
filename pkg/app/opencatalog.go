package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/config"
)

// openCatalog opens, for a command beside the service, the catalog that the settings name; dir, unless empty, comes before
// their data directory.
func openCatalog(ctx context.Context, environ []string, dir string) (*catalog.Catalog, error) {
	if dir != "" {
		environ = append(environ, "SLUICE_DATA_DIR="+dir)
	}
	c, err := config.Parse(nil, environ, io.Discard)
	if err != nil {
		return nil, usageError{err}
	}
	o := catalog.Options{URL: c.DatabaseURL, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	if o.URL == "" {
		o.Path = filepath.Join(c.DataDir, catalogFile)
		if _, err := os.Stat(o.Path); err != nil {
			return nil, fmt.Errorf("there is no catalog in data directory %q: start the service once, or set SLUICE_DATA_DIR or DATABASE_URL", c.DataDir)
		}
	}
	return catalog.Open(ctx, o)
}
