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
	// ErrInvalidKey says that a key is not of the form that UploadKey and PageKey make.
	ErrInvalidKey = errors.New("originals: invalid key")
	// ErrExists says that the key has been used: originals are never overwritten.
	ErrExists = errors.New("originals: key has been used")
)

// UploadKey makes a fresh key for an upload to a datasource: no other call returns the same.
func UploadKey(datasourceID string) string {
	return datasourceID + ".u-" + strings.ToLower(rand.Text())
}

// PageKey is the key of a page that the crawl job of this generation fetched, with the hex SHA-256 of its content.
func PageKey(datasourceID string, generation uint64, sha256 string) string {
	return datasourceID + ".p-" + strconv.FormatUint(generation, 10) + "-" + sha256
}

// DatasourceID returns the datasource that a key belongs to, or ErrInvalidKey.
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
