package jsonbody

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/domain"
)

// maxFields bounds the fields of an object whose names the document lists. No object of the document has nearly as
// many.
const maxFields = 1000

// unknownFields finds the fields of a body that the schema does not know. Where the schema is closed, each is a fault:
// filters of a query and scopes of a key must not get lost by a misspelt name. Elsewhere, names that resemble a known
// field, here or at another endpoint, are faults, and all fields of a body without any known one, which would do
// nothing. The rest is ignored: clients send fields of other services, and send back whole objects that they have read.
// Objects with free keys have no strays. If an object is stored with its unknown fields, only plain slips are faults.
func unknownFields(schema *openapi3.Schema, path string, value any) []domain.FieldError {
	var faults []domain.FieldError
	switch v := value.(type) {
	case map[string]any:
		more := schema.AdditionalProperties
		free := more.Schema != nil || more.Has != nil && *more.Has || len(schema.Properties) == 0
		closed := more.Has != nil || path == "" && !storesUnknown(schema) && !hasKnownField(schema, v)
		if !free && len(v) > maxFields {
			return []domain.FieldError{{Field: FieldName(path), Message: "has " + strconv.Itoa(len(v)) + " fields; the limit is " + strconv.Itoa(maxFields)}}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			property := schema.Properties[name]
			switch {
			case property != nil:
				faults = append(faults, unknownFields(property.Value, Join(path, name), v[name])...)
			case !free && !ignored(schema, name):
				faults = append(faults, unknownField(schema, path, name, closed)...)
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

// ignored reports whether the schema names the field as one that means something else to others, and nothing here.
func ignored(schema *openapi3.Schema, name string) bool {
	names, _ := schema.Extensions["x-ignored"].([]any)
	return slices.Contains(names, any(name))
}

// storesUnknown reports whether the fields that the schema does not know are stored.
func storesUnknown(schema *openapi3.Schema) bool { return schema.Extensions["x-keeps-others"] == true }

// hasKnownField reports whether an object has a field that the schema knows.
func hasKnownField(schema *openapi3.Schema, object map[string]any) bool {
	for name := range object {
		if schema.Properties[name] != nil {
			return true
		}
	}
	return false
}

// foreignField is what the schema says of a name that means something at another endpoint, or to other services, and
// that an answer would be another one without; "" of other names.
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

// unknownField returns the fault of a field that the schema does not know, if it is one.
func unknownField(schema *openapi3.Schema, path, name string, closed bool) []domain.FieldError {
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
	default:
		return nil
	}
	return []domain.FieldError{{Field: FieldName(Join(path, name)), Message: message}}
}

// intendedField is the field that a name is meant for: a known one that it resembles, or one of an object in a field,
// which stands one level too high. It is "" when there is none.
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

// ClosestName returns the one of the known names that a name resembles, "" when there is none: written another way, as
// top_k for topK, or with a slip, as filter for filters.
func ClosestName(known []string, name string) string {
	const longest = 40 // no known name is as long
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

// normaliseName is a name without what ways of writing names differ in.
func normaliseName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// isTypo reports whether one name is the other with a slip of the pen: letters left out, added, swapped or mistaken, up
// to two in a long name, or up to three missing at the end. Short names have another letter often enough by chance; of
// the shortest one letter may be missing.
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

// editDistance is how many letters must be left out, added, replaced, or swapped with the next, to make b of a.
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
