package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrDamaged says that the file of a SQLite catalog is damaged.
var ErrDamaged = errors.New("the catalog is damaged")

// NewerError says that a catalog was written by a newer version of the program.
type NewerError struct{ Have, Want int64 }

func (e *NewerError) Error() string {
	return fmt.Sprintf("its schema has version %d, this program knows versions up to %d: use a newer version of the program, "+
		"or restore a backup that was made before the upgrade", e.Have, e.Want)
}

func newerError(have, want int64) error { return &NewerError{have, want} }

// damage makes an ErrDamaged of what SQLite says about a damaged file, and a syscall.ENOSPC of what it says about a full
// disk. It leaves other errors as they are.
func damage(err error) error {
	var fault *sqlite.Error
	if !errors.As(err, &fault) || errors.Is(err, ErrDamaged) {
		return err
	}
	switch fault.Code() & 0xff { // extended codes have their kind in the low byte
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	return err
}

// quickCheck reads all of a SQLite database and fails with ErrDamaged when its structure is not whole.
func quickCheck(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return fmt.Errorf("checking the database: %w", damage(err))
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, verdict)
	}
	return nil
}

// CheckFile reads the SQLite catalog at a path from end to end and fails with ErrDamaged when its structure is not whole. It may be
// in use meanwhile.
func CheckFile(ctx context.Context, path string) error {
	db, err := openFile(path, url.Values{"_pragma": {"busy_timeout(10000)", "query_only(1)"}, "mode": {"rw"}}.Encode())
	if err != nil {
		return err
	}
	defer db.Close()
	return quickCheck(ctx, db)
}
