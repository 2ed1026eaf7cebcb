package jsonbody

import (
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// Maximum number of alternatives in one metadata filter, the same as in the schema for ids.
const maxFilterValues = 1000

// Where parses the condition or combination of conditions in `filters`, ignoring other fields. It returns nil if there
// is none. `field` is the filters' name in the request, for error messages.
func Where(filters map[string]any, field string) (*filter.Filter, []domain.FieldError) {
	condition := make(map[string]any)
	for _, name := range []string{"type", "key", "value", "filters", "filter"} {
		if v, ok := filters[name]; ok {
			condition[name] = v
		}
	}
	if len(condition) == 0 {
		return nil, nil
	}
	return filter.Parse(condition, field)
}

// FilterFaults returns a fault for each value in a body's metadata filters that can't be compared with metadata, and
// the faults in its condition.
func FilterFaults(body map[string]any) []domain.FieldError {
	filters, _ := body["filters"].(map[string]any)
	metadata, _ := filters["metadata"].(map[string]any)
	_, faults := Where(filters, "filters")
	for key, value := range metadata {
		field := Join("filters.metadata", key)
		list, isList := value.([]any)
		switch {
		case !isList && !Filterable(value):
			faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf("is %s; it must be a string, a number, true or false, or an array of them", Describe(value))})
		case isList && len(list) == 0:
			faults = append(faults, domain.FieldError{Field: field, Message: "is an empty array; send the values to match, or leave the field out"})
		case len(list) > maxFilterValues:
			faults = append(faults, domain.FieldError{Field: field, Message: fmt.Sprintf("has %d items; the limit is %d", len(list), maxFilterValues)})
		default:
			for i, item := range list {
				if !Filterable(item) {
					faults = append(faults, domain.FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Message: fmt.Sprintf("is %s; it must be a string, a number, true or false", Describe(item))})
				}
			}
		}
	}
	return faults
}

// Filterable reports whether a filter may contain the value, that is, whether it can be compared with metadata.
func Filterable(value any) bool {
	switch value.(type) {
	case string, float64, bool:
		return true
	}
	return false
}
