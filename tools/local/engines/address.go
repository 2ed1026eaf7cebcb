package engines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/sluice/sluice/pkg/sleep"
)

// Range of engine ports. It is below the ephemeral ports; otherwise the system could give an engine's port to a client
// connection while the engine restarts.
const (
	firstPort = 20000
	lastPort  = 32000
)

// loopback returns the loopback address with the given port.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// portOf returns the port recorded in an engine's directory. If there is none, it picks a free one and records it. The
// engine must not be running.
func portOf(dir, name string) (int, error) {
	file := filepath.Join(dir, name)
	text, err := os.ReadFile(file)
	if err == nil {
		port, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || port < 1 || port > 65535 {
			return 0, fmt.Errorf("%s contains %q, which is not a port: delete the file", file, text)
		}
		if err := tryPort(port); err != nil {
			return 0, fmt.Errorf("another program uses the port of this engine: stop it, or delete %s to choose another port: %w", file, err)
		}
		return port, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	port, err := reservePort(filepath.Join(os.TempDir(), fmt.Sprintf("sluice-ports-%d", os.Getuid())), firstPort, lastPort)
	if err != nil {
		return 0, err
	}
	return port, os.WriteFile(file, []byte(strconv.Itoa(port)+"\n"), 0o600)
}

// How long a chosen port stays reserved. The engine must listen on it before that.
const reservation = 10 * time.Minute

// reservePort returns a port between `first` and `last` that is not in use and that no process has reserved in the last
// 10 minutes. A port looks free until its engine listens, so without reservations, engines started at the same time
// would get the same port. `dir` has a file per reserved port, and a lock.
func reservePort(dir string, first, last int) (int, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("creating the directory of reserved ports: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return 0, fmt.Errorf("locking the directory of reserved ports: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	fault := errors.New("all are reserved")
	for _, i := range rand.Perm(last - first + 1) {
		port := first + i
		file := filepath.Join(dir, strconv.Itoa(port))
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) < reservation {
			continue
		}
		if err := tryPort(port); err != nil {
			fault = err
			continue
		}
		if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, nil, 0o600)); err != nil {
			return 0, fmt.Errorf("reserving port %d: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("no free port from %d to %d: %w", first, last, fault)
}

// tryPort returns an error if the port is in use.
func tryPort(port int) error {
	l, err := net.Listen("tcp4", loopback(port)) //nolint:noctx // binding to a port does not block
	if err != nil {
		return err
	}
	return l.Close()
}

// listen listens on a loopback port. After a crash, the system may hold the port for a moment, so it retries for 5
// seconds.
func listen(ctx context.Context, port int) (*net.TCPListener, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp4", loopback(port))
		if err == nil {
			return l.(*net.TCPListener), nil
		}
		if sleep.For(ctx, 50*time.Millisecond) != nil {
			return nil, err
		}
	}
}
