package store

import (
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluice/sluice/pkg/index"
)

// corrupt wraps what SQLite says about a damaged file in ErrCorrupt, and leaves other errors as they are. Every statement
// is constant and right for the schema, and asks for what must be there: so a statement that SQLite cannot compile, or a
// row that it cannot find, tells of damage as well.
func corrupt(err error) error {
	if errors.Is(err, index.ErrCorrupt) {
		return err
	}
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %w", index.ErrCorrupt, err)
	}
	var se *sqlite.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR:
			return fmt.Errorf("%w: %w", index.ErrCorrupt, err)
		}
	}
	return err
}
