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
)

// Range of engine ports. It is below the ephemeral ports, so that the system cannot give an engine's port to a client
// connection while the engine restarts.
const (
	firstPort = 20000
	lastPort  = 32000
)

// loopback returns the loopback address with the given port.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// portOf returns the port that is recorded in an engine's directory. If none is recorded, it chooses a free port and
// records it. The engine must not be running.
func portOf(dir, name string) (int, error) {
	file := filepath.Join(dir, name)
	text, err := os.ReadFile(file)
	if err == nil {
		port, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || port < 1 || port > 65535 {
			return 0, fmt.Errorf("%s contains %q, which is not a port: delete the file", file, text)
		}
		if l, err := net.Listen("tcp4", loopback(port)); err != nil { //nolint:noctx // binds, does not wait
			return 0, fmt.Errorf("another program uses the port of this engine: stop it, or delete %s to choose another port: %w", file, err)
		} else if err := l.Close(); err != nil {
			return 0, err
		}
		return port, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	return port, os.WriteFile(file, []byte(strconv.Itoa(port)+"\n"), 0o600)
}

// freePort returns a port that is not in use.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp4", loopback(port)) //nolint:noctx // binds, does not wait
		if err != nil {
			last = err
			continue
		}
		_ = l.Close()
		return port, nil
	}
	return 0, fmt.Errorf("no free port from %d to %d: %w", firstPort, lastPort, last)
}

// listen listens on a loopback port. It retries for 5 seconds, because the system may hold the port for a moment after
// a crash.
func listen(ctx context.Context, port int) (*net.TCPListener, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp4", loopback(port))
		if err == nil {
			return l.(*net.TCPListener), nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
