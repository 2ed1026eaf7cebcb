// Package source reads a data directory's catalog and originals for a backup. Both the service and the offline backup
// command use it.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice/sluice/pkg/backup"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/originals"
)

// To request a backup, operators POST to Path on a running service. The RateParameter query parameter limits the
// service's read rate, in bytes per second.
const (
	Path          = "/admin/backup"
	RateParameter = "rate"
)

// Source is the data to back up.
type Source struct {
	Catalog   string // path to the SQLite catalog
	Originals *originals.Store
	TempDir   string
	Program   string // program version
	Now       func() time.Time
}

// Write writes a backup: a snapshot of the catalog, then the originals it refers to. Originals must not be deleted
// while it runs.
func (s Source) Write(ctx context.Context, w io.Writer, bytesPerSecond int64) (backup.Report, error) {
	dir, err := os.MkdirTemp(s.TempDir, "backup-")
	if err != nil {
		return backup.Report{}, fmt.Errorf("making a directory for the catalog's copy: %w", err)
	}
	defer os.RemoveAll(dir)
	at := s.Now().UTC()
	snapshot, err := maintenance.TakeSnapshot(ctx, s.Catalog, filepath.Join(dir, datadir.Catalog))
	if err != nil {
		return backup.Report{}, err
	}
	defer snapshot.Close()
	return backup.Write(ctx, w, backup.Content{
		Header:  backup.Header{Program: s.Program, Schema: snapshot.Schema, Catalog: snapshot.ID, CreatedAt: at},
		Catalog: snapshot.Path, Each: snapshot.EachOriginal, Open: s.Originals.Get, Lost: lostOriginal, TempDir: dir, BytesPerSecond: bytesPerSecond,
	})
}

// lostOriginal converts an error from the original store to a Loss.Reason. It returns "" if the original isn't lost.
func lostOriginal(err error) string {
	switch {
	case errors.Is(err, originals.ErrNotFound), errors.Is(err, originals.ErrInvalidKey):
		return backup.ReasonMissing
	case errors.Is(err, originals.ErrCorrupt):
		return backup.ReasonDamaged
	}
	return ""
}

// Refusal says why this package can't back up a service with these settings, or returns "" if it can. It can't back up
// data outside the data directory.
func Refusal(c config.Config) string {
	switch {
	case c.DatabaseURL != "":
		return "the catalog is in PostgreSQL (DATABASE_URL): back it up with pg_dump first, then back up NATS; see docs/deployment.md"
	case c.NATSURL != "":
		return "the originals are on NATS servers (NATS_URL): stop the service and copy catalog.db, then back up NATS; see docs/deployment.md"
	}
	return ""
}

// Minimum read rate in bytes per second. A lower rate is probably a typo, such as 10 for 10MiB; at 10 bytes per second,
// a backup would never finish.
const minRate = 64 << 10

// ParseRate parses a read rate in bytes per second. Both "" and 0 mean no limit.
func ParseRate(text string) (int64, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	n, err := config.ParseBytes(text)
	if err == nil && n < minRate {
		err = fmt.Errorf("%q is too slow; the minimum is 64KiB per second", text)
	}
	return int64(n), err
}
