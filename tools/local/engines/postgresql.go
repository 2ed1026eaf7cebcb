package engines

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgreSQL is a PostgreSQL server with default durability: committed data survives a crash.
type PostgreSQL struct {
	*Process
	addr, password string
}

// URL returns the superuser's URL for the "postgres" database, including the password.
func (p *PostgreSQL) URL() string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", p.password), Host: p.addr, Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// PostgreSQLOptions are the options for StartPostgreSQL. The zero value suits tests.
type PostgreSQLOptions struct {
	// Settings are server parameters by name. They override the parameters set by this package.
	Settings map[string]string
	// Temporary deletes the directory if this process exits without stopping the engine.
	Temporary bool
}

// postgresqlSettings configure a small server that listens only on loopback.
var postgresqlSettings = map[string]string{
	"listen_addresses":           "127.0.0.1",
	"unix_socket_directories":    "",
	"shared_buffers":             "32MB",
	"max_connections":            "200",  // all packages' tests share the server
	"dynamic_shared_memory_type": "mmap", // keeps files inside the data directory
	"log_min_messages":           "warning",
}

// StartPostgreSQL starts a PostgreSQL with its data in the directory, which it creates if necessary, and waits until it
// answers queries. It uses the programs in PATH or /usr/lib/postgresql; if there are none, it downloads version 16 (11
// MB). PostgreSQL refuses to run as root, so for root the server runs as an ordinary user in a user namespace.
func StartPostgreSQL(ctx context.Context, dir string, o PostgreSQLOptions) (*PostgreSQL, error) {
	bin, err := postgresqlPrograms(ctx)
	if err != nil {
		return nil, err
	}
	dir, port, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	p := &PostgreSQL{addr: loopback(port)}
	if p.password, err = passwordOf(dir); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := initialise(ctx, bin, data, filepath.Join(dir, "password")); err != nil {
		return nil, fmt.Errorf("making the PostgreSQL data directory: %w", err)
	}
	settings := maps.Clone(postgresqlSettings)
	settings["port"] = strconv.Itoa(port)
	maps.Copy(settings, o.Settings)
	s := spec{
		Args: []string{filepath.Join(bin, "postgres"), "-D", data},
		Env:  []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"},
		Dir:  dir, Log: filepath.Join(dir, "server.log"),
		Ready:      readiness{TCP: p.addr},
		StopSignal: syscall.SIGINT, // "fast shutdown"
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s.Args = append(s.Args, "-c", name+"="+settings[name])
	}
	if o.Temporary {
		s.RemoveIfOrphaned = dir
	}
	p.Process = &Process{name: "PostgreSQL", launch: func(ctx context.Context) (*child, error) {
		c, err := launchChild(ctx, s, asOrdinaryUser(), nil)
		if err != nil {
			return nil, err
		}
		if err := p.answers(ctx); err != nil {
			return nil, errors.Join(err, c.end(commandKill))
		}
		return c, nil
	}}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// answers waits until the server answers queries. A server listens even before it has recovered.
func (p *PostgreSQL) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, p.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// CreateDatabase creates an empty database with this name and returns its URL.
func (p *PostgreSQL) CreateDatabase(ctx context.Context, name string) (string, error) {
	return createDatabase(ctx, p.URL(), name)
}

// createDatabase creates an empty database and returns its URL. serverURL names an existing database on the server.
func createDatabase(ctx context.Context, serverURL, name string) (string, error) {
	u, err := url.Parse(serverURL)
	if err != nil || u.Scheme == "" {
		return "", errors.New("the address of PostgreSQL must be a URL, postgres://user:password@host:port/database") // without the value, which may contain a password
	}
	if err := execute(ctx, serverURL, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", fmt.Errorf("creating the database %q: %w", name, err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// DropDatabase drops the database with this name, if it exists, after closing all connections to it.
func (p *PostgreSQL) DropDatabase(ctx context.Context, name string) error {
	return dropDatabase(ctx, p.URL(), name)
}

func dropDatabase(ctx context.Context, serverURL, name string) error {
	if err := execute(ctx, serverURL, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("dropping the database %q: %w", name, err)
	}
	return nil
}

func execute(ctx context.Context, serverURL, statement string) error {
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// postgresqlPrograms returns the directory with initdb and postgres.
func postgresqlPrograms(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		// The program may be a symbolic link into the server's directory.
		if path, err = filepath.EvalSymlinks(path); err == nil && isFile(filepath.Join(filepath.Dir(path), "initdb")) {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	slices.SortFunc(found, func(a, b string) int { return versionIn(b) - versionIn(a) })
	for _, initdb := range found {
		if isFile(filepath.Join(filepath.Dir(initdb), "postgres")) {
			return filepath.Dir(initdb), nil
		}
	}
	return pgserverWheel.install(ctx)
}

// versionIn returns the version in /usr/lib/postgresql/<version>/bin/initdb, or 0 if that is not a number.
func versionIn(path string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		return 0
	}
	return n
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// passwordOf returns the superuser's password from the directory, creating one if necessary. If there were none, any
// user on the machine could run programs as the server's user.
func passwordOf(dir string) (string, error) {
	file := filepath.Join(dir, "password")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		password := rand.Text()
		return password, os.WriteFile(file, []byte(password+"\n"), 0o600)
	}
	return strings.TrimSpace(string(text)), err
}

// initialise creates the data directory if it doesn't exist. It gets its final name only once it is complete.
func initialise(ctx context.Context, bin, data, passwordFile string) error {
	if isFile(filepath.Join(data, "PG_VERSION")) {
		return nil
	}
	making := data + ".making"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata="+making, "--username=postgres", "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.Dir = filepath.Dir(data)
	where := asOrdinaryUser()
	cmd.SysProcAttr = where.attr
	if out, err := cmd.CombinedOutput(); err != nil {
		if cmd.ProcessState == nil {
			return where.explain(err)
		}
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(making, data)
}
