package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// rules are what the document cannot say about a body: how fields depend on one another. They run beside the schema,
// on values that may be of any type, so that one answer names all faults. By operation.
var rules = map[string]func(body map[string]any) []domain.FieldError{
	"CreateAgent":           agentRule,
	"UpdateAgent":           agentRule,
	"CreateDatasource":      createDatasourceRule,
	"PlanSite":              planRule,
	"UpdateDatasource":      updateDatasourceRule,
	"UpsertDocuments":       upsertRule,
	"UpdateDocument":        metadataRule,
	"CreateKey":             createKeyRule,
	"CreateChatCompletion":  chatRule,
	"QueryAgent":            queryAgentRule,
	"QueryAgentAlias":       queryAgentRule,
	"QueryDatastore":        jsonbody.FilterFaults,
	"QueryDatastoreResults": jsonbody.FilterFaults,
}

func createDatasourceRule(body map[string]any) []domain.FieldError {
	faults := metadataFaults("metadata", body["metadata"])
	config, isObject := body["config"].(map[string]any)
	if body["config"] != nil && !isObject {
		return faults // the schema says so
	}
	missing := func(field, why string) {
		faults = append(faults, domain.FieldError{Field: "config." + field, Message: why})
	}
	_, hasURL := config["source_url"]
	_, hasSitemap := config["sitemap"]
	switch body["type"] {
	case string(domain.TypeFile):
		faults = append(faults, domain.FieldError{Field: "file", Message: "is required: send a file as multipart/form-data"})
	case string(domain.TypeWebPage):
		if !hasURL {
			missing("source_url", "is required for a web_page: the page's address")
		}
		for _, field := range []string{"sitemap", "include", "exclude", "max_pages", "max_depth"} {
			if config[field] != nil {
				missing(field, "is for a web_site, not for a web_page")
			}
		}
	case string(domain.TypeWebSite):
		if !hasURL && !hasSitemap {
			missing("source_url", "is required for a web_site, unless config.sitemap is given")
		}
	case string(domain.TypeText):
		if text, isText := config["text"].(string); config["text"] == nil || isText && strings.TrimSpace(text) == "" {
			missing("text", "is required for a text: the content")
		}
	}
	faults = append(faults, refreshFaults(config)...)
	faults = append(faults, patternFaults(config)...)
	faults = append(faults, headerFaults(config)...)
	if t := body["type"]; config["headers"] != nil && t != string(domain.TypeWebPage) && t != string(domain.TypeWebSite) {
		missing("headers", fmt.Sprintf("is for a web_page or web_site, not for a %v", t))
	}
	if t := body["type"]; config["refresh"] != nil && t != string(domain.TypeWebPage) && t != string(domain.TypeWebSite) {
		missing("refresh", fmt.Sprintf("is for a web_page or web_site, not for a %v", t))
	}
	for _, field := range []string{"source_url", "sitemap"} {
		if address, ok := config[field].(string); ok {
			if why := addressFault(address); why != "" {
				missing(field, why)
			}
		}
	}
	return faults
}

// addressFault says why an address cannot be fetched, "" when it can be tried.
func addressFault(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return fmt.Sprintf("is %s, which is not an address", jsonbody.Describe(address))
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Sprintf("is %s; it must begin with http:// or https://", jsonbody.Describe(address))
	case u.Hostname() == "":
		return fmt.Sprintf("is %s, an address without a host", jsonbody.Describe(address))
	case u.User != nil:
		return "must not carry a user name or password"
	}
	return ""
}

func upsertRule(body map[string]any) []domain.FieldError {
	documents, _ := body["documents"].([]any)
	var faults []domain.FieldError
	for i, d := range documents {
		if document, ok := d.(map[string]any); ok {
			faults = append(faults, metadataFaults(fmt.Sprintf("documents[%d].metadata", i), document["metadata"])...)
		}
	}
	return faults
}

func metadataRule(body map[string]any) []domain.FieldError {
	return metadataFaults("metadata", body["metadata"])
}

func metadataFaults(field string, value any) []domain.FieldError {
	metadata, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	// A map of decoded JSON always encodes.
	if encoded, _ := json.Marshal(metadata); len(encoded) > domain.MaxMetadataBytes {
		return []domain.FieldError{{Field: field, Message: fmt.Sprintf("has %d bytes as JSON; the limit is %s", len(encoded), byteSize(domain.MaxMetadataBytes))}}
	}
	if facets, err := index.Facets(metadata); err != nil || len(facets) > maxMetadataValues {
		return []domain.FieldError{{Field: field, Message: fmt.Sprintf("has more than %d different values that filters could ask for; put some of them together into one text", maxMetadataValues)}}
	}
	return nil
}

// maxMetadataValues bounds the values of metadata that can be filtered, which every chunk is indexed by. It leaves room for
// what a document says of itself, which comes to the caller's.
const maxMetadataValues = index.MaxFacets - 1000

func createKeyRule(body map[string]any) []domain.FieldError {
	scopes, _ := body["scopes"].([]any)
	asksQuery := false
	for _, scope := range scopes {
		asksQuery = asksQuery || scope == string(domain.ScopeQuery)
	}
	_, hasAgent := body["agentId"]
	switch {
	case asksQuery && len(scopes) > 1:
		return []domain.FieldError{{Field: "scopes", Message: "has query beside another scope; query stands alone"}}
	case asksQuery && !hasAgent:
		return []domain.FieldError{{Field: "agentId", Message: "is required for the scope query: the agent that may be queried"}}
	case hasAgent && !asksQuery:
		return []domain.FieldError{{Field: "agentId", Message: `is only for the scope query; add "scopes": ["query"] or leave it out`}}
	}
	return nil
}
