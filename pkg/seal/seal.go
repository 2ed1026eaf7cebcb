// Package seal encrypts the request headers of protected sites. The catalog, job stream and backups contain only
// encrypted headers; only the api and crawler processes have the key.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice/sluice/pkg/domain"
)

// MinKeyBytes is the minimum size of a key in bytes.
const MinKeyBytes = 32

// ErrSealed is returned by Open if headers were sealed with another key or for another site, or were altered.
var ErrSealed = errors.New("the headers cannot be decrypted with this key")

// Box seals and opens headers with one key. It is safe for concurrent use.
type Box struct{ aead cipher.AEAD }

// New returns a Box. Its encryption key (AES-256) is derived from the given key by HKDF with SHA-256 (RFC 5869).
func New(key string) (*Box, error) {
	if len(key) < MinKeyBytes {
		return nil, fmt.Errorf("the key has %d bytes; it needs at least %d", len(key), MinKeyBytes)
	}
	derived, err := hkdf.Key(sha256.New, []byte(key), nil, "sluice request headers 1", 32)
	if err != nil {
		return nil, fmt.Errorf("deriving a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("setting up the cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("setting up the cipher: %w", err)
	}
	return &Box{aead}, nil
}

// additionalData returns the AEAD's additional data, which binds sealed headers to a workspace and an origin.
func additionalData(workspaceID, origin string) ([]byte, error) {
	return json.Marshal([]string{workspaceID, origin})
}

// Seal encrypts a workspace's headers for an origin. It returns nil if there are no headers.
func (b *Box) Seal(workspaceID, origin string, headers map[string]string) (*domain.SiteAccess, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	plain, err := json.Marshal(headers)
	if err != nil {
		return nil, fmt.Errorf("encoding headers: %w", err)
	}
	with, err := additionalData(workspaceID, origin)
	if err != nil {
		return nil, fmt.Errorf("encoding the origin: %w", err)
	}
	sealed := b.aead.Seal(nil, nil, plain, with) //nolint:gosec // G407: the cipher takes no nonce and draws a random one itself
	return &domain.SiteAccess{Origin: origin, Names: slices.Sorted(maps.Keys(headers)), Sealed: sealed}, nil
}

// Open decrypts headers. It fails with ErrSealed unless they were sealed with this key for this workspace and origin.
func (b *Box) Open(workspaceID string, a domain.SiteAccess) (map[string]string, error) {
	with, err := additionalData(workspaceID, a.Origin)
	if err != nil {
		return nil, fmt.Errorf("encoding the origin: %w", err)
	}
	plain, err := b.aead.Open(nil, nil, a.Sealed, with)
	if err != nil {
		return nil, ErrSealed
	}
	var headers map[string]string
	if err := json.Unmarshal(plain, &headers); err != nil {
		return nil, ErrSealed
	}
	return headers, nil
}

// NewKey returns a random key.
func NewKey() string { return rand.Text() + rand.Text() }
