package seal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice/sluice/pkg/durable"
)

// KeyFile reads a data directory's key from the file at `path`. If the file does not exist, KeyFile creates it with a
// new key.
func KeyFile(path string) (string, error) {
	kept, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return newKeyFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the key that encrypts the headers of protected sites: %w; %s", err, keyLostAdvice)
	}
	key := strings.TrimSpace(string(kept))
	if len(key) < MinKeyBytes || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s is damaged: it does not contain the key that encrypts the headers of protected sites; %s", path, keyLostAdvice)
	}
	return key, nil
}

const keyLostAdvice = "restore it from a backup, or remove it and send the headers of protected sites again"

func newKeyFile(path string) (string, error) {
	key := NewKey()
	if err := writeKeyFile(path, key); err != nil {
		return "", fmt.Errorf("storing the key that encrypts the headers of protected sites: %w", err)
	}
	return key, nil
}

// writeKeyFile writes the key to disk under a temporary name and then renames the file, so that the key file is either
// complete or missing after a power failure.
func writeKeyFile(path, key string) error {
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
