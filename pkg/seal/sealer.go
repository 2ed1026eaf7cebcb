package seal

import (
	"fmt"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
)

// Sealer encrypts protected sites' headers for the API and decrypts them for the crawler.
type Sealer struct{ box *Box }

// NewSealer returns a Sealer with the given key, or nil if the key is empty.
func NewSealer(key string) (*Sealer, error) {
	if key == "" {
		return nil, nil
	}
	box, err := New(key)
	if err != nil {
		return nil, fmt.Errorf("SLUICE_SECRET_KEY: %w", err)
	}
	return &Sealer{box}, nil
}

// Seal encrypts headers for the origin of the given address.
func (s *Sealer) Seal(workspaceID, address string, headers map[string]string) (*domain.SiteAccess, error) {
	origin, err := crawl.Origin(address)
	if err != nil {
		return nil, domain.Invalid("config.headers", "cannot be sent because %q is not a web address", address)
	}
	return s.box.Seal(workspaceID, origin, headers)
}

// Open decrypts the headers in a crawl job.
func (s *Sealer) Open(workspaceID string, a domain.SiteAccess) (*crawl.Access, error) {
	headers, err := s.box.Open(workspaceID, a)
	if err != nil {
		return nil, err
	}
	return crawl.NewAccess(a.Origin, headers)
}
