package db

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrDamaged means that an SQLite catalog's file is damaged.
var ErrDamaged = errors.New("the catalog is damaged")

// Damage maps SQLite's errors for a damaged file to ErrDamaged and for a full disk to syscall.ENOSPC. It returns other
// errors unchanged.
func Damage(err error) error {
	var fault *sqlite.Error
	if !errors.As(err, &fault) || errors.Is(err, ErrDamaged) {
		return err
	}
	switch fault.Code() & 0xff { // the low byte of an extended code is the primary code
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	return err
}
