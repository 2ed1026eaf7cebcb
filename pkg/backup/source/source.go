// Package source reads what a backup holds: the catalog of a data directory, and the originals that it refers to. The service and the
// command that backs up a data directory which no service has open import it.
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

// A running service gives a backup to its operator, who sends a POST to Path. RateParameter bounds how fast the service reads, in bytes a
// second.
const (
	Path          = "/admin/backup"
	RateParameter = "rate"
)

// Source is what a backup is made of.
type Source struct {
	Catalog   string // path of the SQLite catalog
	Originals *originals.Store
	TempDir   string
	Program   string // version of the program
	Now       func() time.Time
}

// Write writes a backup, first the catalog as it is now, then the originals that it refers to. These must stay meanwhile.
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

// lostOriginal says what an error of the store of originals tells of the original.
func lostOriginal(err error) string {
	switch {
	case errors.Is(err, originals.ErrNotFound), errors.Is(err, originals.ErrInvalidKey):
		return backup.ReasonMissing
	case errors.Is(err, originals.ErrCorrupt):
		return backup.ReasonDamaged
	}
	return ""
}

// Refusal says why a service with these settings keeps things elsewhere than in its data directory and is backed up in another way; "": it
// does not.
func Refusal(c config.Config) string {
	switch {
	case c.DatabaseURL != "":
		return "the catalog is in PostgreSQL (DATABASE_URL): back it up with pg_dump, and NATS after it; docs/backup.md says how"
	case c.NATSURL != "":
		return "the originals are on NATS servers (NATS_URL): stop the service and copy catalog.db, then back up NATS; docs/backup.md says how"
	}
	return ""
}

// minRate keeps a backup from lasting for ever by a slip: 10 for 10MiB.
const minRate = 64 << 10

// ParseRate reads how many bytes a second may be read; "" and 0 mean no bound.
func ParseRate(text string) (int64, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	n, err := config.ParseBytes(text)
	if err == nil && n < minRate {
		err = fmt.Errorf("%q is less than 64KiB a second", text)
	}
	return int64(n), err
}
