package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/sleep"
)

// Fault adds the code domain.CodeUnavailable to errors that occur because the database is down or busy. Usually the
// operation had no effect, but if the connection broke during a commit, the transaction may have been committed.
func Fault(err error) error {
	if err == nil || !isTransient(err) {
		return err
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	words := "the catalog's database is unreachable; try again shortly"
	if fileFault(err) {
		words = "the catalog's database cannot be read or written at the moment; its disk may be full"
	}
	return &domain.Error{Code: domain.CodeUnavailable, Message: words, Err: Damage(err)}
}

// isTransient reports whether the error was caused by the database or the network rather than the statement.
func isTransient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the caller has given up
	}
	if fileFault(err) || errors.Is(err, errRolledBack) { // every attempt was rolled back because of another transaction
		return true
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch class := refusal.Code[:min(2, len(refusal.Code))]; class {
		case "08", "53": // connection errors; out of disk space, memory or connections
			return true
		}
		return strings.HasPrefix(refusal.Code, "57P0") || // the server is stopping or starting
			refusal.Code == "57014" || refusal.Code == "55P03" || // statement_timeout, lock_timeout
			refusal.Code == "25006" || refusal.Code == "25P03" || // the server has become a standby; idleTimeout
			isContention(err)
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// fileFault reports whether SQLite could not use its file: the disk is full or failing, too many files are open, memory
// is exhausted, or another process holds the lock. These errors are temporary, and the transaction has had no effect.
func fileFault(err error) bool {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Code() & 0xff { // the higher bits are details
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// isContention reports whether a transaction failed only because of a concurrent one and can be retried.
func isContention(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && (refusal.Code == "40001" || refusal.Code == "40P01")
}

// isForeignKeyFault reports whether a statement failed because it refers to a row that another transaction has just
// deleted. A retry finds that the row is missing and returns a proper error.
func isForeignKeyFault(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == "23503"
}

// Maximum number of attempts for a transaction that conflicts with others.
const maxRuns = 8

// backOff waits before a retry. Delays grow to about half a second.
func backOff(ctx context.Context, run int) error {
	return sleep.For(ctx, time.Duration(1+rand.IntN(4<<min(run, 7)))*time.Millisecond)
}

// clean removes NUL characters and replaces invalid UTF-8. PostgreSQL can't store either, and both engines must behave
// the same.
func clean(args []any) []any {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = cleanText(s)
		}
	}
	return args
}

func cleanText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd")
}
