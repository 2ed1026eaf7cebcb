package api

import (
	"fmt"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
)

// lengthFault returns the reason why a query is too long, or "" if its length is allowed. A query is normalised before
// it is searched, which may make it many times longer, so both lengths are limited.
func (s *server) lengthFault(query string) string {
	limit := s.options.MaxQueryChars
	if n := utf8.RuneCountInString(query); n > limit {
		return fmt.Sprintf("has %d characters; the limit is %d", n, limit)
	}
	if analysis.NormalLength(query, limit) > limit {
		return fmt.Sprintf("has more than %d characters (SLUICE_LIMIT_QUERY) after Unicode normalisation (NFKC), in which some of its characters become several; shorten it", limit)
	}
	return ""
}

// checkLength rejects a query that is too long only after normalisation. The schema has checked the length before.
func (s *server) checkLength(field, query string) error {
	if fault := s.lengthFault(query); fault != "" {
		return domain.Invalid(field, "%s", fault)
	}
	return nil
}
