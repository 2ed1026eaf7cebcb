package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// Minimum length in bytes of the key in the data directory. A shorter key must have been truncated and is replaced.
const minSecret = 16

// firstKey makes sure that there is an API key. It stores the configured key or, if there are no keys at all, creates
// one, writes it to keyFile (mode 0600) and prints it once to `out`, along with the console's address.
func firstKey(ctx context.Context, keys *catalog.Catalog, configured, keyFile, console string, now time.Time, out io.Writer) error {
	if err := keys.EnsureWorkspace(ctx, domain.DefaultWorkspace, "Default"); err != nil {
		return fmt.Errorf("creating the default workspace: %w", err)
	}
	if configured != "" {
		return ensureKey(ctx, keys, configured, "SLUICE_API_KEY", now)
	}
	n, err := keys.CountKeys(ctx)
	if err != nil {
		return fmt.Errorf("counting keys: %w", err)
	}
	if n > 0 {
		return nil
	}
	// Write the file first. If this process crashes before storing the key in the catalog, the next start finds the
	// file and stores the key.
	secret, err := secretFile(keyFile)
	if err != nil {
		return err
	}
	if err := ensureKey(ctx, keys, secret, "first key", now); err != nil {
		return err
	}
	fmt.Fprintf(out, "First start: your API key is %s\nIt is saved in %s and not shown again.\nOpen %s and sign in with the key.\n", secret, keyFile, console)
	return nil
}

// consoleAt returns the console's address for users on this machine, even if the service listens on all interfaces.
func consoleAt(listening net.Addr) string {
	host, port, err := net.SplitHostPort(listening.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return "http://" + net.JoinHostPort("localhost", port) + "/"
	}
	return "http://" + listening.String() + "/"
}

func ensureKey(ctx context.Context, keys *catalog.Catalog, secret, name string, now time.Time) error {
	_, err := keys.KeyByHash(ctx, domain.HashKey(secret))
	if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	_, err = keys.CreateKey(ctx, domain.APIKey{
		ID: domain.NewID(), WorkspaceID: domain.DefaultWorkspace, Name: name, Hash: domain.HashKey(secret), Hint: secret[len(secret)-4:],
		Scopes: []domain.Scope{domain.ScopeRead, domain.ScopeWrite}, CreatedAt: now,
	})
	if domain.CodeOf(err) == domain.CodeConflict {
		// Another api process may have stored this key in between.
		_, err = keys.KeyByHash(ctx, domain.HashKey(secret))
	}
	if err != nil {
		return fmt.Errorf("storing the %s: %w", name, err)
	}
	return nil
}

// secretFile returns the secret written by an earlier start, or creates one.
func secretFile(path string) (string, error) {
	kept, err := os.ReadFile(path)
	if secret := strings.TrimSpace(string(kept)); err == nil && len(secret) >= minSecret {
		return secret, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading the saved API key: %w", err)
	}
	secret := domain.NewKey()
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("saving the API key: %w", err)
	}
	return secret, nil
}
