package jsonbody

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of fields in an object whose field names are defined in the document. Real objects have far fewer.
const maxFields = 1000

// unknownFields returns faults for fields that aren't in the schema:
//
//   - In a closed schema, every unknown field is a fault, so that a misspelt name can't drop a query's filter or a key's
//     scope.
//   - In a body without any known field, every field is a fault, because the request would have no effect.
//   - In an object whose unknown fields are stored, only likely typos are faults.
//   - In other objects, a field is a fault if its name resembles a known field, here or at another endpoint. Other
//     unknown fields are ignored, because clients send fields meant for other services and send back whole objects they
//     have read.
//
// An object with arbitrary keys has no unknown fields.
func unknownFields(schema *openapi3.Schema, path string, value any) []domain.FieldError {
	var faults []domain.FieldError
	switch v := value.(type) {
	case map[string]any:
		more := schema.AdditionalProperties
		free := more.Schema != nil || more.Has != nil && *more.Has || len(schema.Properties) == 0
		closed, useless := more.Has != nil, path == "" && !storesUnknown(schema) && !hasKnownField(schema, v)
		if !free && len(v) > maxFields {
			return []domain.FieldError{{Field: FieldName(path), Message: "has " + strconv.Itoa(len(v)) + " fields; the limit is " + strconv.Itoa(maxFields)}}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			property := schema.Properties[name]
			switch {
			case property != nil:
				faults = append(faults, unknownFields(property.Value, Join(path, name), v[name])...)
			case !free && !ignored(schema, name):
				faults = append(faults, unknownField(schema, path, name, closed, useless)...)
			}
		}
	case []any:
		if schema.Items != nil {
			for i, item := range v {
				faults = append(faults, unknownFields(schema.Items.Value, path+"["+strconv.Itoa(i)+"]", item)...)
			}
		}
	}
	return faults
}

// ignored reports whether the schema lists the field as one that only other services use.
func ignored(schema *openapi3.Schema, name string) bool {
	names, _ := schema.Extensions["x-ignored"].([]any)
	return slices.Contains(names, any(name))
}

// storesUnknown reports whether fields outside the schema are stored.
func storesUnknown(schema *openapi3.Schema) bool { return schema.Extensions["x-keeps-others"] == true }

func hasKnownField(schema *openapi3.Schema, object map[string]any) bool {
	for name := range object {
		if schema.Properties[name] != nil {
			return true
		}
	}
	return false
}

// foreignField returns the schema's hint about a field from another endpoint or service, or "". Such a field must not
// be ignored silently, because the client expects it to have an effect.
func foreignField(schema *openapi3.Schema, name string) string {
	names, _ := schema.Extensions["x-elsewhere"].(map[string]any)
	for known, way := range names {
		if normaliseName(known) == normaliseName(name) {
			text, _ := way.(string)
			return text
		}
	}
	return ""
}

// unknownField returns the fault for a field that isn't in the schema, or nil if it may be ignored. `useless` means
// that the body has no known field.
func unknownField(schema *openapi3.Schema, path, name string, closed, useless bool) []domain.FieldError {
	known := slices.Sorted(maps.Keys(schema.Properties))
	message := "is unknown; "
	way := foreignField(schema, name)
	switch meant := intendedField(schema, known, name); {
	case way != "":
		message += way
	case meant != "":
		message += "did you mean " + Join(path, meant) + "?"
	case closed:
		message += "it must be one of " + strings.Join(known, ", ")
	case useless:
		message += "the body has no known fields; the known fields are " + strings.Join(known, ", ")
	default:
		return nil
	}
	return []domain.FieldError{{Field: FieldName(Join(path, name)), Message: message}}
}

// intendedField returns the field the client probably meant: a known field with a similar name, or a nested object's
// field written one level too high. It returns "" if there is no such field.
func intendedField(schema *openapi3.Schema, known []string, name string) string {
	if meant := ClosestName(known, name); meant != "" {
		return meant
	}
	for _, field := range known {
		for inner := range schema.Properties[field].Value.Properties {
			if normaliseName(inner) == normaliseName(name) {
				return field + "." + inner
			}
		}
	}
	return ""
}

// ClosestName returns the known name that `name` resembles, or "". `name` may be misspelt (filter for filters) or in
// another notation (top_k for topK).
func ClosestName(known []string, name string) string {
	const longest = 40 // all known names are shorter
	if len(name) > longest {
		return ""
	}
	plain := normaliseName(name)
	for _, k := range known {
		if normaliseName(k) == plain {
			return k
		}
	}
	for _, k := range known {
		if isTypo(normaliseName(k), plain) {
			return k
		}
	}
	return ""
}

// normaliseName returns the name in lower case without separators, so that top_k and topK become equal.
func normaliseName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// isTypo reports whether one name is probably a misspelling of the other. That is the case if the names differ by one
// edit (see editDistance) or, if they are long, by two, or if one name is the other without its last one to three
// letters. Because many short names differ by only one letter, short names of equal length count as misspellings only
// if two letters are swapped, and a three-letter name matches only four-letter ones.
func isTypo(a, b string) bool {
	const (
		shortest, short, long = 4, 6, 9
		ending                = 3
	)
	minimum, limit := min(len(a), len(b)), max(len(a), len(b))
	switch {
	case minimum == shortest-1 && limit == shortest:
		return editDistance(a, b) == 1
	case minimum < shortest || limit-minimum > ending:
		return false
	case strings.HasPrefix(a, b) || strings.HasPrefix(b, a):
		return true
	case minimum < short && len(a) == len(b):
		return editDistance(a, b) == 1 && slices.Equal(slices.Sorted(slices.Values([]byte(a))), slices.Sorted(slices.Values([]byte(b))))
	case minimum < long:
		return editDistance(a, b) == 1
	}
	return editDistance(a, b) <= 2
}

// editDistance returns the minimum number of edits that turn a into b. An edit deletes, inserts or replaces a letter,
// or swaps two adjacent letters.
func editDistance(a, b string) int {
	above, before, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(before[j+1]+1, row[j]+1, before[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], above[j-1]+1)
			}
		}
		above, before, row = before, row, above
	}
	return before[len(b)]
}
