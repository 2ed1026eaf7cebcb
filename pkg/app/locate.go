package app

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice/sluice/pkg/config"
)

// located is a running service, as the commands that ask one over HTTP find it.
type located struct {
	address, key string
	config       config.Config
}

// locate finds the service and its key: by flags, by the environment, and as the service of this data directory.
func locate(address, key, dataDir string, environ []string) (located, error) {
	if dataDir != "" {
		environ = append(environ, "SLUICE_DATA_DIR="+dataDir)
	}
	c, err := config.Parse(nil, environ, io.Discard)
	at := located{address: address, key: key, config: c}
	if err != nil {
		return at, usageError{err}
	}
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, "SLUICE_URL="); ok && address == "" {
			at.address = value
		}
	}
	if at.address == "" {
		if at.address, err = addressOf(c); err != nil {
			return at, usageError{err}
		}
	}
	if at.key == "" {
		at.key = c.APIKey
	}
	if at.key == "" {
		kept, err := os.ReadFile(filepath.Join(c.DataDir, keyFile))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return at, fmt.Errorf("reading the kept API key: %w", err)
		}
		at.key = strings.TrimSpace(string(kept))
	}
	return at, nil
}

// addressOf is where a process on this machine reaches the service that SLUICE_ADDR configures.
func addressOf(c config.Config) (string, error) {
	addr := c.Addr
	if addr == "" {
		addr = DefaultAddr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("SLUICE_ADDR %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}
