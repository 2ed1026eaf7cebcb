package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

func createDatasourceRule(body map[string]any) []domain.FieldError {
	faults := MetadataFaults("metadata", body["metadata"])
	config, isObject := body["config"].(map[string]any)
	if body["config"] != nil && !isObject {
		return faults // reported by the schema
	}
	missing := func(field, why string) {
		faults = append(faults, domain.FieldError{Field: "config." + field, Message: why})
	}
	faults = append(faults, CustomIDFaults(body, "custom_id", "config.custom_id", "metadata.custom_id")...)
	given := func(field string) bool { // form-based clients send an empty text if there is no address
		text, isText := config[field].(string)
		return config[field] != nil && (!isText || strings.TrimSpace(text) != "")
	}
	hasURL, hasSitemap := given("source_url"), given("sitemap")
	isWeb := body["type"] == string(domain.TypeWebPage) || body["type"] == string(domain.TypeWebSite)
	elsewhere := misplacedAddress(body, config, isWeb && !hasURL && !hasSitemap)
	faults = append(faults, elsewhere...)
	hasURL = hasURL || len(elsewhere) > 0 // so that the address is not also reported as missing
	switch body["type"] {
	case string(domain.TypeFile):
		faults = append(faults, domain.FieldError{Field: "file", Message: "is required; send a file as multipart/form-data"})
	case string(domain.TypeWebPage):
		if !hasURL {
			missing("source_url", "is required for a web_page; send the page's address")
		}
		for _, field := range []string{"sitemap", "include", "exclude", "max_pages", "max_depth"} {
			if given(field) {
				missing(field, "only applies to a web_site, not a web_page")
			}
		}
	case string(domain.TypeWebSite):
		if !hasURL && !hasSitemap {
			missing("source_url", "is required for a web_site, unless config.sitemap is given")
		}
	case string(domain.TypeText):
		if text, isText := config["text"].(string); config["text"] == nil || isText && strings.TrimSpace(text) == "" {
			missing("text", "is required for a text; send the content")
		}
	case string(domain.TypeQA):
		for field, what := range map[string]string{"question": "the question", "answer": "its answer"} {
			if text, isText := config[field].(string); config[field] == nil || isText && strings.TrimSpace(text) == "" {
				missing(field, "is required for a qa; send "+what)
			}
		}
		if config["text"] != nil {
			missing("text", "only applies to a text, not a qa; send question and answer")
		}
	}
	if body["type"] != string(domain.TypeQA) {
		for _, field := range []string{"question", "answer"} {
			if config[field] != nil {
				missing(field, fmt.Sprintf("only applies to a qa, not a %v", body["type"]))
			}
		}
	}
	faults = append(faults, refreshFaults(config)...)
	faults = append(faults, patternFaults(config)...)
	faults = append(faults, headerFaults(config)...)
	for _, field := range []string{"headers", "refresh"} {
		if config[field] != nil && !isWeb {
			missing(field, fmt.Sprintf("only applies to a web_page or web_site, not a %v", body["type"]))
		}
	}
	for _, field := range []string{"source_url", "sitemap"} {
		if address, ok := config[field].(string); ok && given(field) {
			if why := addressFault(address); why != "" {
				missing(field, why)
			}
		}
	}
	return faults
}

// addressNames lists other services' names for a page's address.
var addressNames = []string{"url", "uri", "link", "address"}

// misplacedAddress returns a fault for each field that seems to hold a page's or site's address under a wrong name. It
// looks in `config` and, if config has no address (`missing`), in `body`.
func misplacedAddress(body, config map[string]any, missing bool) []domain.FieldError {
	var faults []domain.FieldError
	look := func(in map[string]any, at string) {
		for _, name := range addressNames {
			if v, given := in[name]; given {
				faults = append(faults, domain.FieldError{Field: jsonbody.Join(at, name), Message: fmt.Sprintf(
					`is %s, which is ignored here; send the address as config.source_url: {"config": {"source_url": "https://…"}}`, jsonbody.Describe(v))})
			}
		}
	}
	look(config, "config")
	if missing {
		look(body, "")
	}
	return faults
}

// addressFault says why an address cannot be fetched, or returns "" if it is valid.
func addressFault(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return fmt.Sprintf("is %s, which is not a valid address", jsonbody.Describe(address))
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Sprintf("is %s; it must begin with http:// or https://", jsonbody.Describe(address))
	case u.Hostname() == "":
		return fmt.Sprintf("is %s, which has no host", jsonbody.Describe(address))
	case u.User != nil:
		return "must not contain a user name or password; use config.headers"
	}
	return ""
}

// planRule checks constraints on a request to plan a site's crawl that the OpenAPI document cannot express.
func planRule(body map[string]any) []domain.FieldError {
	config, _ := body["config"].(map[string]any)
	if config == nil {
		return nil // reported by the schema
	}
	return createDatasourceRule(map[string]any{"type": string(domain.TypeWebSite), "config": config})
}

// updateDatasourceRule checks constraints on a datasource patch that the OpenAPI document cannot express.
func updateDatasourceRule(body map[string]any) []domain.FieldError {
	config, _ := body["config"].(map[string]any)
	faults := append(refreshFaults(config), patternFaults(config)...)
	faults = append(faults, headerFaults(config)...)
	return append(faults, MetadataFaults("metadata", body["metadata"])...)
}

// Maximum total size in bytes of a site's include and exclude patterns, encoded as JSON. They are part of every job for
// the site.
const maxPatternBytes = 108 << 10

// patternFaults returns a fault if a site's include and exclude patterns are too long in total.
func patternFaults(config map[string]any) []domain.FieldError {
	var bytes, limit int
	var longest string
	for _, field := range []string{"include", "exclude"} {
		if patterns, ok := config[field].([]any); ok {
			encoded, _ := json.Marshal(patterns) // cannot fail, because the value was decoded from JSON
			if bytes += len(encoded); len(encoded) > limit {
				longest, limit = field, len(encoded)
			}
		}
	}
	if bytes <= maxPatternBytes {
		return nil
	}
	return []domain.FieldError{{Field: "config." + longest, Message: fmt.Sprintf("makes the site's patterns %d bytes long as JSON; the limit is %s", bytes, jsonbody.ByteSize(maxPatternBytes))}}
}

// refreshFaults returns a fault if the refresh setting is invalid. An empty setting is valid and means that the content
// is never fetched again.
func refreshFaults(config map[string]any) []domain.FieldError {
	spec, isText := config["refresh"].(string)
	if !isText || strings.TrimSpace(spec) == "" {
		return nil
	}
	_, err := domain.ParseRefresh(strings.TrimSpace(spec))
	var e *domain.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && len(e.Fields) > 0:
		return e.Fields
	default:
		return []domain.FieldError{{Field: "config.refresh", Message: err.Error()}}
	}
}

// headerFaults returns faults in a site's headers, without showing header values.
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
