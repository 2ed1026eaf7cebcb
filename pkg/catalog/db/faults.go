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
)

// Fault gives an error that passes by itself, because the database is away or busy, the code that says so. What it hit
// has not been done, or, if the connection broke while a transaction was committed, has been done whole or not at all.
func Fault(err error) error {
	if err == nil || !passing(err) {
		return err
	}
	var known *domain.Error
	if errors.As(err, &known) {
		return err
	}
	words := "the catalog's database does not answer; try again shortly"
	if fileFault(err) {
		words = "the catalog's database cannot be read or written at the moment; the disk that it is on may be full"
	}
	return &domain.Error{Code: domain.CodeUnavailable, Message: words, Err: Damage(err)}
}

// passing reports whether the database or the way to it is at fault, and not the statement.
func passing(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the caller does not wait any longer
	}
	if fileFault(err) || errors.Is(err, errUndone) { // undone for another's fault as often as it was run
		return true
	}
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		switch class := refusal.Code[:min(2, len(refusal.Code))]; class {
		case "08", "53": // the connection; out of disk, memory or connections
			return true
		}
		return strings.HasPrefix(refusal.Code, "57P0") || // the server stops or starts
			refusal.Code == "57014" || refusal.Code == "55P03" || // statement_timeout, lock_timeout
			refusal.Code == "25006" || refusal.Code == "25P03" || // it has become a standby; idleTimeout
			contended(err)
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// fileFault reports whether SQLite could not do its work on its file: the disk is full or fails, no more files can be
// opened, no memory is left, or another process holds the lock. All of it passes with its cause, and leaves the database
// as it was before the transaction.
func fileFault(err error) bool {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Code() & 0xff { // the rest says more closely what it was
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// contended reports whether a transaction was given up because of another one: it passes when run again.
func contended(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && (refusal.Code == "40001" || refusal.Code == "40P01")
}

// orphaned reports whether a row was deleted on which one depends that was just stored: when run again, the transaction
// finds it gone and says so.
func orphaned(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == "23503"
}

// maxRuns is how often a transaction is run that others get in the way of.
const maxRuns = 8

// breathe waits before a transaction is run again, longer each time, at most about half a second.
func breathe(ctx context.Context, run int) error {
	t := time.NewTimer(time.Duration(1+rand.IntN(4<<min(run, 7))) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clean takes from texts what PostgreSQL does not store, so that both engines store and find the same: NUL, and what is
// no UTF-8.
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
