package api

import (
	"cmp"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// headerFaults returns the faults of a site's headers. Messages do not contain header values.
func headerFaults(config map[string]any) []domain.FieldError {
	given, isObject := config["headers"].(map[string]any)
	if !isObject {
		return nil // absent, or reported by the schema
	}
	headers := make(map[string]string, len(given))
	for name, value := range given {
		if text, isText := value.(string); isText {
			headers[name] = text
		}
	}
	_, faults := domain.CleanHeaders("config.headers", headers)
	return faults
}

// seal encrypts the headers of a web datasource. It does nothing if there are none.
func (s *server) seal(d domain.Datasource, headers map[string]string) (*domain.SiteAccess, error) {
	switch {
	case len(headers) == 0:
		return nil, nil
	case !isWeb(d):
		return nil, domain.Invalid("config.headers", "are for a web_page or web_site; datasource %s is a %s", d.ID, d.Type)
	case s.Sealer == nil:
		return nil, domain.Invalid("config.headers", "cannot be stored: this service has no key to encrypt them with. Its operator sets SLUICE_SECRET_KEY, to the same value in every api and crawler process")
	}
	clean, faults := domain.CleanHeaders("config.headers", headers)
	if len(faults) > 0 {
		return nil, &domain.Error{Code: domain.CodeInvalid, Message: faults[0].Field + " " + faults[0].Message, Fields: faults}
	}
	access, err := s.Sealer.Seal(d.WorkspaceID, cmp.Or(d.Config.SourceURL, d.Config.Sitemap), clean)
	if err != nil {
		return nil, fmt.Errorf("encrypting the headers of datasource %s: %w", d.ID, err)
	}
	return access, nil
}
