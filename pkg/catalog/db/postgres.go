package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/sleep"
)

var postgresDialect = dialect{goose: goose.DialectPostgres, numbered: true, shared: true, lock: " FOR UPDATE"}

// MinPostgres is the oldest supported major version of PostgreSQL.
const MinPostgres = 13

// DefaultConnections is the default of Options.Connections.
const DefaultConnections = 16

// Timeouts for a PostgreSQL connection. The URL can override the server-side ones.
const (
	connectTimeout   = 10 * time.Second
	statementTimeout = time.Minute      // for one statement
	lockTimeout      = 20 * time.Second // for one wait for a lock; the server detects deadlocks after a second
	idleTimeout      = time.Minute      // for an idle transaction
	connectionLife   = 30 * time.Minute // connections are replaced after this long, to spread them over restarted servers
	connectionIdle   = 5 * time.Minute
)

// keepAlive makes a connection fail within half a minute if the machine at its other end goes down.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}

// openPostgres opens a database on a PostgreSQL server, which may be shared with other processes.
func openPostgres(ctx context.Context, o Options) (*DB, error) {
	cfg, err := pgx.ParseConfig(o.URL)
	if err != nil {
		// Hide the library's error, which may contain the password if the URL is invalid.
		return nil, errors.New("DATABASE_URL is invalid: it must have the form postgres://user:password@host:port/database, with special characters in the password percent-encoded")
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, connectTimeout)
	cfg.DialFunc = (&net.Dialer{Timeout: cfg.ConnectTimeout, KeepAliveConfig: keepAlive}).DialContext
	setParam(cfg, "application_name", "sluice")
	// The server needs keep-alives, too. Without them, it would hold a client's locks for hours after the client's
	// machine goes down.
	setParam(cfg, "tcp_keepalives_idle", "10")
	setParam(cfg, "tcp_keepalives_interval", "5")
	setParam(cfg, "tcp_keepalives_count", "4")
	unbounded := cfg.Copy()
	setParam(cfg, "statement_timeout", milliseconds(statementTimeout))
	setParam(cfg, "lock_timeout", milliseconds(lockTimeout))
	setParam(cfg, "idle_in_transaction_session_timeout", milliseconds(idleTimeout))

	conns := max(cmp.Or(o.Connections, DefaultConnections), 2)
	open := func(conns int) *sql.DB {
		db := stdlib.OpenDB(*cfg)
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		db.SetConnMaxLifetime(connectionLife)
		db.SetConnMaxIdleTime(connectionIdle)
		return db
	}
	// Use a separate pool for reads, so that they don't have to wait when transactions use all connections of the other
	// pool.
	write, read := open(conns/2), open(conns-conns/2)
	d := &DB{
		dialect: postgresDialect,
		name:    address(cfg),
		write:   write,
		writer:  newPool(write, postgresDialect),
		Read:    newPool(read, postgresDialect),
		migrations: func() (*sql.DB, error) {
			db := stdlib.OpenDB(*unbounded)
			db.SetMaxOpenConns(3)
			return db, nil
		},
		session: func(o sessionOptions) *session { return startSession(unbounded, o) },
	}
	d.ready = d.primary
	if err = d.waitForServer(ctx, cfg, o); err != nil {
		return nil, errors.Join(err, d.closePools())
	}
	return d, nil
}

// connectPause is the pause between attempts to reach a server that does not respond yet.
const connectPause = 250 * time.Millisecond

// Times at which waitForServer logs that the server does not respond. A single connection attempt can take twice
// connectTimeout, so the first message may appear during the first attempt.
const (
	firstReport = 2 * time.Second
	reportEvery = 10 * time.Second
)

// waitForServer connects to the server, which may still be starting. It retries until StartTimeout has passed.
func (d *DB) waitForServer(ctx context.Context, cfg *pgx.ConnConfig, o Options) error {
	ctx, done := context.WithTimeout(ctx, max(o.StartTimeout, 2*connectTimeout))
	defer done()
	report := func(err error) {
		o.Log.Warn("waiting for PostgreSQL (DATABASE_URL)", "server", address(cfg), "error", err, "for_at_most", o.StartTimeout)
	}
	slow := time.AfterFunc(firstReport, func() { report(errors.New("no answer yet")) })
	defer slow.Stop()
	began := time.Now()
	for reported := (time.Time{}); ; {
		err := d.checkConnection(ctx, cfg)
		if err == nil || domain.CodeOf(err) != domain.CodeUnavailable || time.Since(began) >= o.StartTimeout || ctx.Err() != nil {
			return err
		}
		if time.Since(reported) >= reportEvery {
			slow.Stop()
			reported = time.Now()
			report(err)
		}
		if sleep.For(ctx, connectPause) != nil {
			return err
		}
	}
}

// checkConnection opens the first connection and checks the server and the database.
func (d *DB) checkConnection(ctx context.Context, cfg *pgx.ConnConfig) error {
	var version, encoding string
	var current sql.NullString
	err := d.Read.QueryRow(ctx, `SELECT current_setting('server_version_num'), current_setting('server_encoding'), current_schema(),
		to_regclass('goose_db_version') IS NOT NULL`).Scan(&version, &encoding, &current, &d.migrated)
	if err != nil {
		return explain(err, cfg)
	}
	d.scope = current.String
	return checkServer(version, encoding, current.Valid)
}

// checkServer rejects servers that the catalog cannot use. `version` is a number, such as 150018 for 15.18.
func checkServer(version, encoding string, hasSchema bool) error {
	switch n, err := strconv.Atoi(version); {
	case err != nil:
		return fmt.Errorf("reading the server's version %q: %w", version, err)
	case n/10_000 < MinPostgres:
		return fmt.Errorf("the server is PostgreSQL %d, but version %d or later is required", n/10_000, MinPostgres)
	case encoding != "UTF8":
		return fmt.Errorf("the database has the encoding %s; create it with ENCODING 'UTF8'", encoding)
	case !hasSchema:
		return errors.New("none of the schemas in this user's search_path exists; create one of them, or set another schema in the URL (?search_path=…)")
	}
	return nil
}

// primary returns an error if the server does not accept writes.
func (d *DB) primary(ctx context.Context) error {
	var standby bool
	if err := d.Read.QueryRow(ctx, `SELECT pg_is_in_recovery()`).Scan(&standby); err != nil {
		return err
	}
	if standby {
		return errors.New("the server is a standby and does not accept writes")
	}
	return nil
}

// explain replaces common connection errors with ones that tell the operator what is wrong.
func explain(err error, cfg *pgx.ConnConfig) error {
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refusal.Code {
		case "28P01", "28000":
			return fmt.Errorf("the server rejects user %q: %s", cfg.User, refusal.Message)
		case "3D000":
			return fmt.Errorf("the server has no database %q: create it, or use another one", cfg.Database)
		case "53300":
			return fmt.Errorf("the server has no free connection: %s", refusal.Message)
		}
		if isTransient(refusal) { // the server is starting or stopping
			return &domain.Error{Code: domain.CodeUnavailable, Message: "the server does not answer yet", Err: refusal}
		}
		return refusal
	}
	// The driver joins one error per address, with and without TLS. The first one is enough.
	if dial := new(net.OpError); errors.As(err, &dial) {
		err = dial
	} else if lookup := new(net.DNSError); errors.As(err, &lookup) {
		err = lookup
	}
	return &domain.Error{Code: domain.CodeUnavailable, Message: "PostgreSQL at " + address(cfg) + " (DATABASE_URL) cannot be reached: start it, or correct the address", Err: err}
}

// address returns the database's address without the password, for messages.
func address(cfg *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s/%s", cfg.User, net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))), cfg.Database)
}

func setParam(cfg *pgx.ConnConfig, name, value string) {
	if _, set := cfg.RuntimeParams[name]; !set {
		cfg.RuntimeParams[name] = value
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
