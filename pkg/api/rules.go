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
	"UpdateDocument":        updateDocumentRule,
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
	faults = append(faults, customIDFaults(body, "custom_id", "config.custom_id", "metadata.custom_id")...)
	given := func(field string) bool { // clients of forms send an empty text for no address
		text, isText := config[field].(string)
		return config[field] != nil && (!isText || strings.TrimSpace(text) != "")
	}
	hasURL, hasSitemap := given("source_url"), given("sitemap")
	isWeb := body["type"] == string(domain.TypeWebPage) || body["type"] == string(domain.TypeWebSite)
	elsewhere := addressElsewhere(body, config, isWeb && !hasURL && !hasSitemap)
	faults = append(faults, elsewhere...)
	hasURL = hasURL || len(elsewhere) > 0 // do not report it as missing too
	switch body["type"] {
	case string(domain.TypeFile):
		faults = append(faults, domain.FieldError{Field: "file", Message: "is required: send a file as multipart/form-data"})
	case string(domain.TypeWebPage):
		if !hasURL {
			missing("source_url", "is required for a web_page: the page's address")
		}
		for _, field := range []string{"sitemap", "include", "exclude", "max_pages", "max_depth"} {
			if given(field) {
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
	case string(domain.TypeQA):
		for field, what := range map[string]string{"question": "the question", "answer": "its answer"} {
			if text, isText := config[field].(string); config[field] == nil || isText && strings.TrimSpace(text) == "" {
				missing(field, "is required for a qa: "+what)
			}
		}
		if config["text"] != nil {
			missing("text", "is for a text, not for a qa, whose content is question and answer")
		}
	}
	if body["type"] != string(domain.TypeQA) {
		for _, field := range []string{"question", "answer"} {
			if config[field] != nil {
				missing(field, fmt.Sprintf("is for a qa, not for a %v", body["type"]))
			}
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
		if address, ok := config[field].(string); ok && given(field) {
			if why := addressFault(address); why != "" {
				missing(field, why)
			}
		}
	}
	return faults
}

// addressNames are the names of the page's address in other services.
var addressNames = []string{"url", "uri", "link", "address"}

// addressElsewhere finds the address of a page or site under another name: in the config, or next to it if nothing else says what to
// fetch.
func addressElsewhere(body, config map[string]any, missing bool) []domain.FieldError {
	var faults []domain.FieldError
	look := func(in map[string]any, at string) {
		for _, name := range addressNames {
			if v, given := in[name]; given {
				faults = append(faults, domain.FieldError{Field: jsonbody.Join(at, name), Message: fmt.Sprintf(
					`is %s, where nothing reads it; the address belongs in config.source_url: {"config": {"source_url": "https://…"}}`, jsonbody.Describe(v))})
			}
		}
	}
	look(config, "config")
	if missing {
		look(body, "")
	}
	return faults
}

// customIDFaults reports a custom id that is given in several places with different values.
func customIDFaults(body map[string]any, places ...string) []domain.FieldError {
	first, at := "", ""
	for _, place := range places {
		id := textAt(body, place)
		switch {
		case id == "":
		case at == "":
			first, at = id, place
		case id != first:
			return []domain.FieldError{{Field: place, Message: fmt.Sprintf("is %s, but %s is %s; send one of them", jsonbody.Describe(id), at, jsonbody.Describe(first))}}
		}
	}
	return nil
}

// textAt returns the text of a field or nested field, "" if there is none.
func textAt(body map[string]any, place string) string {
	outer, inner, nested := strings.Cut(place, ".")
	if nested {
		body, _ = body[outer].(map[string]any)
		outer = inner
	}
	text, _ := body[outer].(string)
	return text
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
			at := fmt.Sprintf("documents[%d]", i)
			faults = append(faults, metadataFaults(at+".metadata", document["metadata"])...)
			for _, f := range customIDFaults(document, "custom_id", "metadata.custom_id") {
				faults = append(faults, domain.FieldError{Field: jsonbody.Join(at, f.Field), Message: f.Message})
			}
		}
	}
	return faults
}

func updateDocumentRule(body map[string]any) []domain.FieldError {
	return append(metadataFaults("metadata", body["metadata"]), customIDFaults(body, "custom_id", "metadata.custom_id")...)
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
