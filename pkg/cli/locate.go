package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
)

// DefaultAddr is the default listen address of a service.
const DefaultAddr = "127.0.0.1:8080"

// ConnectionFlags holds the flags that locate a running service. Their defaults come from the environment and the data
// directory.
type ConnectionFlags struct {
	URL, Key, DataDir string
}

// Flags adds the flags that locate a service.
func (w *ConnectionFlags) Flags(cmd *cobra.Command) {
	for _, f := range []struct {
		value       *string
		name, usage string
	}{
		{&w.URL, "url", "`address` of the service (default: SLUICE_URL if set, otherwise SLUICE_ADDR on this machine)"},
		{&w.Key, "key", "API `key` (default: SLUICE_API_KEY if set, otherwise the api-key file in the data directory)"},
		{&w.DataDir, "data-dir", "data `directory` of a local service; its API key is read from there (SLUICE_DATA_DIR)"},
	} {
		cmd.Flags().StringVar(f.value, f.name, "", f.usage)
		cmd.Flags().Lookup(f.name).Annotations = map[string][]string{connectionFlag: {}}
	}
}

// Endpoint describes how to reach a running service.
type Endpoint struct {
	Address string // such as http://127.0.0.1:8080
	Key     string // "" if none was found
	KeyFile string // where the key was expected
	Config  config.Config
}

// Locate finds the service's address and an API key. If no key is configured and the service runs on this machine, it
// uses the key in the local data directory.
func (w ConnectionFlags) Locate(environ []string) (Endpoint, error) {
	if w.DataDir != "" {
		environ = append(environ[:len(environ):len(environ)], "SLUICE_DATA_DIR="+w.DataDir)
	}
	c, err := config.ParseEnviron(environ)
	at := Endpoint{Address: w.URL, Key: w.Key, Config: c}
	if err != nil {
		return at, WithExit(Misused, err)
	}
	if w.URL == "" {
		at.Address = Variable(environ, "SLUICE_URL")
	}
	own, err := AddressOf(c)
	if at.Address == "" {
		if err != nil {
			return at, WithExit(Misused, err)
		}
		at.Address = own
	}
	at.Key = cmp.Or(at.Key, c.APIKey)
	if at.Key == "" && (at.Address == own || loopback(at.Address)) {
		at.KeyFile = filepath.Join(c.DataDir, datadir.APIKey)
		kept, err := os.ReadFile(at.KeyFile)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return at, fmt.Errorf("reading the API key in the data directory: %w", err)
		}
		at.Key = strings.TrimSpace(string(kept))
	}
	return at, nil
}

// loopback reports whether an address is on the loopback interface.
func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// AddressOf returns the local URL of a service that listens on SLUICE_ADDR.
func AddressOf(c config.Config) (string, error) {
	addr := cmp.Or(c.Addr, DefaultAddr)
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("SLUICE_ADDR %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// Variable returns the value of an environment variable, or "" if it is not set.
func Variable(environ []string, name string) (value string) {
	for _, kv := range environ {
		if rest, ok := strings.CutPrefix(kv, name+"="); ok {
			value = rest
		}
	}
	return value
}
