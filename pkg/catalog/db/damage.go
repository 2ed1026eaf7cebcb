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
