package db

import (
	"errors"
	"fmt"
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

// Damage makes an ErrDamaged of what SQLite says about a damaged file, and a syscall.ENOSPC of what it says about a full
// disk. It leaves other errors as they are.
func Damage(err error) error {
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
