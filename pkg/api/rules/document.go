package rules

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

func upsertRule(body map[string]any) []domain.FieldError {
	documents, _ := body["documents"].([]any)
	var faults []domain.FieldError
	for i, d := range documents {
		if document, ok := d.(map[string]any); ok {
			at := fmt.Sprintf("documents[%d]", i)
			faults = append(faults, MetadataFaults(at+".metadata", document["metadata"])...)
			for _, f := range CustomIDFaults(document, "custom_id", "metadata.custom_id") {
				faults = append(faults, domain.FieldError{Field: jsonbody.Join(at, f.Field), Message: f.Message})
			}
		}
	}
	return faults
}

func updateDocumentRule(body map[string]any) []domain.FieldError {
	return append(MetadataFaults("metadata", body["metadata"]), CustomIDFaults(body, "custom_id", "metadata.custom_id")...)
}

// MetadataFaults reports metadata that is too large or has too many filterable values.
func MetadataFaults(field string, value any) []domain.FieldError {
	metadata, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	// Encoding can't fail, because the map was decoded from JSON.
	if encoded, _ := json.Marshal(metadata); len(encoded) > domain.MaxMetadataBytes {
		return []domain.FieldError{{Field: field, Message: fmt.Sprintf("is %d bytes long as JSON; the limit is %s", len(encoded), jsonbody.ByteSize(domain.MaxMetadataBytes))}}
	}
	if facets, err := index.Facets(metadata); err != nil || len(facets) > maxMetadataValues {
		return []domain.FieldError{{Field: field, Message: fmt.Sprintf("has more than %d different filterable values; combine some of them into one string", maxMetadataValues)}}
	}
	return nil
}

// Maximum number of filterable metadata values a caller may set on a document. Every chunk is indexed under each of
// them. The index allows 1,000 more, for metadata read from the document.
const maxMetadataValues = index.MaxFacets - 1000

// CustomIDFaults returns a fault if a document's custom id is set in several places to different values.
func CustomIDFaults(body map[string]any, places ...string) []domain.FieldError {
	first, at := "", ""
	for _, place := range places {
		id := textAt(body, place)
		switch {
		case id == "":
		case at == "":
			first, at = id, place
		case id != first:
			return []domain.FieldError{{Field: place, Message: fmt.Sprintf("is %s, but %s is %s; send only one of them", jsonbody.Describe(id), at, jsonbody.Describe(first))}}
		}
	}
	return nil
}

// textAt returns the string in a field or nested field, or "" if it is missing or not a string.
func textAt(body map[string]any, place string) string {
	outer, inner, nested := strings.Cut(place, ".")
	if nested {
		body, _ = body[outer].(map[string]any)
		outer = inner
	}
	text, _ := body[outer].(string)
	return text
}
