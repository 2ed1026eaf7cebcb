package originals

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Errors to be tested with errors.Is.
var (
	// ErrNotFound says that there is no original of that key.
	ErrNotFound = errors.New("originals: not found")
	// ErrTooLarge says that content went over the limit of a Put. Nothing of it was kept.
	ErrTooLarge = errors.New("originals: content too large")
	// ErrCorrupt says that content does not match the digest it was stored with.
	ErrCorrupt = errors.New("originals: content does not match its digest")
	// ErrInvalidKey means that a key does not have the form of UploadKey and PageKey.
	ErrInvalidKey = errors.New("originals: invalid key")
	// ErrExists means that the key is already used: originals are never overwritten.
	ErrExists = errors.New("originals: key has been used")
)

// UploadKey returns a new, unique key for an upload to a datasource.
func UploadKey(datasourceID string) string {
	return datasourceID + ".u-" + strings.ToLower(rand.Text())
}

// PageKey returns the key of a page, from the generation of its crawl job and the hexadecimal SHA-256 of its content.
func PageKey(datasourceID string, generation uint64, sha256 string) string {
	return datasourceID + ".p-" + strconv.FormatUint(generation, 10) + "-" + sha256
}

// DatasourceID returns the id of the datasource in a key, or ErrInvalidKey.
func DatasourceID(key string) (string, error) {
	id, suffix, ok := strings.Cut(key, ".")
	if !ok || !domain.ValidID(id) || suffix == "" || len(suffix) > maxSuffix || strings.Trim(suffix, suffixAlphabet) != "" {
		return "", fmt.Errorf("%w: %q", ErrInvalidKey, key)
	}
	return id, nil
}

const (
	suffixAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789-"
	maxSuffix      = 128
)
