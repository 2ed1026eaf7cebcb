package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/seal"
)

// sealer encrypts the headers of protected sites for the API, and decrypts them for the crawler.
type sealer struct{ box *seal.Box }

// openSealer returns nil for no key.
func openSealer(key string) (*sealer, error) {
	if key == "" {
		return nil, nil
	}
	box, err := seal.New(key)
	if err != nil {
		return nil, fmt.Errorf("SLUICE_SECRET_KEY: %w", err)
	}
	return &sealer{box}, nil
}

// openSealer uses the key of the settings. Without one, a process that runs all services uses the key in the data
// directory, which crawlers in other processes would not have.
func (s *Service) openSealer(context.Context) (err error) {
	key := s.config.SecretKey
	if key == "" && s.config.NATSURL == "" && s.config.NATSListen == "" {
		if key, err = keptSecretKey(s.dir.Join(datadir.SecretKey)); err != nil {
			return err
		}
	}
	s.sealer, err = openSealer(key)
	return err
}

// keptSecretKey reads the key from its file. If the file does not exist, it creates one with a new key.
func keptSecretKey(path string) (string, error) {
	kept, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return newSecretKey(path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the key that encrypts the headers of protected sites: %w; %s", err, withoutSecretKey)
	}
	key := strings.TrimSpace(string(kept))
	if len(key) < seal.MinKeyBytes || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s is damaged: it does not hold the key that encrypts the headers of protected sites; %s", path, withoutSecretKey)
	}
	return key, nil
}

// withoutSecretKey is the way out for an operator whose key is lost.
const withoutSecretKey = "restore it from a backup, or remove it and send the headers of protected sites again"

// newSecretKey creates the file with a new key.
func newSecretKey(path string) (string, error) {
	key := seal.NewKey()
	if err := keepSecretKey(path, key); err != nil {
		return "", fmt.Errorf("storing the key that encrypts the headers of protected sites: %w", err)
	}
	return key, nil
}

// keepSecretKey writes the file to disk before it gets its name, so that a loss of power leaves the whole file or none.
func keepSecretKey(path, key string) error {
	unfinished := path + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(unfinished, []byte(key+"\n"), 0o600); err != nil {
		return err
	}
	if err := durable.File(unfinished); err != nil {
		return err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return durable.Dir(filepath.Dir(path))
}

// Seal implements api.Sealer.
func (s *sealer) Seal(workspaceID, address string, headers map[string]string) (*domain.SiteAccess, error) {
	origin, err := crawl.Origin(address)
	if err != nil {
		return nil, domain.Invalid("config.headers", "have no origin to be sent to: %q is not a web address", address)
	}
	return s.box.Seal(workspaceID, origin, headers)
}

// open decrypts the headers of a job.
func (s *sealer) open(workspaceID string, a domain.SiteAccess) (*crawl.Access, error) {
	headers, err := s.box.Open(workspaceID, a)
	if err != nil {
		return nil, err
	}
	return crawl.NewAccess(a.Origin, headers)
}
