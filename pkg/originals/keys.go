package originals

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrNotFound means that no original has this key.
	ErrNotFound = errors.New("originals: not found")
	// ErrTooLarge means that content exceeds Put's limit. None of it was stored.
	ErrTooLarge = errors.New("originals: content too large")
	// ErrCorrupt means that content does not match its stored digest.
	ErrCorrupt = errors.New("originals: content does not match its digest")
	// ErrInvalidKey means that a key is not in the format returned by UploadKey, PageKey and MemberKey.
	ErrInvalidKey = errors.New("originals: invalid key")
	// ErrExists means that the key is already in use. Originals are never overwritten.
	ErrExists = errors.New("originals: key is already in use")
)

// UploadKey returns a new, unique key for an upload to a datasource.
func UploadKey(datasourceID string) string {
	return datasourceID + ".u-" + strings.ToLower(rand.Text())
}

// PageKey returns a page's key, which contains the generation of its crawl job and the content's hexadecimal SHA-256.
func PageKey(datasourceID string, generation uint64, sha256 string) string {
	return datasourceID + ".p-" + strconv.FormatUint(generation, 10) + "-" + sha256
}

// MemberKey returns the key for an archive's file, which contains the generation of the archive's job and the content's
// hexadecimal SHA-256.
func MemberKey(datasourceID string, generation uint64, sha256 string) string {
	return datasourceID + ".m-" + strconv.FormatUint(generation, 10) + "-" + sha256
}

// DatasourceID returns the datasource id contained in a key, or ErrInvalidKey.
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
