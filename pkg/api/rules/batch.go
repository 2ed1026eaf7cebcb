package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum length of an upserted document's name in characters. Longer names are shortened.
const maxDocumentName = 500

// batchFields maps operation ids to the field that contains the batch. In these operations, only the faulty items are
// rejected; the others are accepted.
var batchFields = map[string]string{"UpsertDocuments": "documents"}

// CleanBatch repairs harmless faults in a batch, adding a warning about each change to the item's result in `items`.
// `parsed` holds the faults found while parsing the body, and `faults` the ones that remain. `field` is empty if the
// operation has no batch or the batch is not an array.
func CleanBatch(operationID string, body map[string]any, parsed []domain.FieldError) (
	field string, items []jsonbody.Item, faults []domain.FieldError,
) {
	field = batchFields[operationID]
	list, isList := body[field].([]any)
	if field == "" || !isList {
		return "", nil, parsed
	}
	items = make([]jsonbody.Item, len(list))
	cleaned := map[string]bool{}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		warn := func(path, format string, args ...any) {
			items[i].Warnings = append(items[i].Warnings, domain.FieldError{Field: path, Message: fmt.Sprintf(format, args...)})
		}
		// Don't repair custom ids. Without its NUL characters, a custom id might equal another document's.
		exact := []string{at + ".custom_id", at + ".metadata.custom_id"}
		list[i] = jsonbody.RemoveNUL(item, at, exact, func(path string) {
			cleaned[path] = true
			warn(path, "contained NUL characters, which were removed")
		})
		document, _ := item.(map[string]any)
		name, _ := document["name"].(string)
		if n := utf8.RuneCountInString(name); n > maxDocumentName {
			document["name"] = strings.TrimSpace(string([]rune(name)[:maxDocumentName]))
			warn(at+".name", "had %d characters and was shortened to the limit of %d", n, maxDocumentName)
		}
		slices.SortFunc(items[i].Warnings, func(a, b domain.FieldError) int { return strings.Compare(a.Field, b.Field) })
	}
	return field, items, jsonbody.WithoutNULFaults(parsed, cleaned)
}

// GroupFaults rejects a document whose custom id belongs to a web site or an archive. inMetadata means that the custom
// id was sent as metadata.
func GroupFaults(n int, inMetadata bool, group domain.Datasource) []domain.FieldError {
	field := "custom_id"
	if inMetadata {
		field = "metadata.custom_id"
	}
	return []domain.FieldError{{
		Field:   fmt.Sprintf("documents[%d].%s", n, field),
		Message: fmt.Sprintf("belongs to datasource %s, whose type %s cannot be replaced by text; delete the datasource or use another id", group.ID, group.Type),
	}}
}
