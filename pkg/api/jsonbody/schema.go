package jsonbody

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// Check validates a body against one of the document's schemas and returns all faults. It removes fields that count as
// omitted: null fields, and limits with the value that means "no limit" (see Unlimited).
func Check(schema *openapi3.Schema, value any) []domain.FieldError {
	dropAbsent(schema, value)
	return append(SchemaFaults(schema, "", value), unknownFields(schema, "", value)...)
}

// SchemaFaults returns all violations of the schema. Each fault has the field's path and value, and says how to correct
// it.
func SchemaFaults(schema *openapi3.Schema, path string, value any) []domain.FieldError {
	err := schema.VisitJSON(value, openapi3.MultiErrors(), openapi3.EnableFormatValidation())
	if err == nil {
		return nil
	}
	var found []domain.FieldError
	for _, e := range flatten(err) {
		at := path
		for _, part := range e.JSONPointer() {
			if _, isIndex := strconv.Atoi(part); isIndex == nil {
				at += "[" + part + "]"
			} else {
				at = Join(at, part)
			}
		}
		if e.SchemaField == "properties" {
			continue // unknown fields are left to unknownFields
		}
		found = append(found, domain.FieldError{Field: FieldName(at), Message: describeFault(e)})
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Field < found[j].Field })
	return firstFaults(found)
}

// flatten returns the schema errors in err, however they are wrapped.
func flatten(err error) []*openapi3.SchemaError {
	//nolint:errorlint // only the outermost error counts: it wraps the faults of all alternatives, although matching one would be enough
	if e, is := err.(*openapi3.SchemaError); is && e.SchemaField == "oneOf" {
		return []*openapi3.SchemaError{e}
	}
	var many openapi3.MultiError
	if errors.As(err, &many) {
		var all []*openapi3.SchemaError
		for _, e := range many {
			all = append(all, flatten(e)...)
		}
		return all
	}
	if one, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		return []*openapi3.SchemaError{one}
	}
	return nil
}

// firstFaults keeps only the first fault per field. An empty string, for example, doesn't also have to be reported as
// blank.
func firstFaults(sorted []domain.FieldError) []domain.FieldError {
	kept := sorted[:0]
	for i, f := range sorted {
		if i == 0 || f.Field != sorted[i-1].Field {
			kept = append(kept, f)
		}
	}
	return kept
}

func describeFault(e *openapi3.SchemaError) string {
	switch e.SchemaField {
	case "required":
		return "is required"
	case "type", "nullable":
		if e.Schema.Extensions[secretExtension] == true {
			return "must be " + typeName(e.Schema)
		}
		return fmt.Sprintf("is %s; it must be %s", Describe(e.Value), typeName(e.Schema))
	case "enum":
		return enumComplaint(e)
	case "minimum":
		return fmt.Sprintf("%s is below the minimum of %s", Describe(e.Value), formatNumber(*e.Schema.Min))
	case "maximum":
		return fmt.Sprintf("%s is above the maximum of %s", Describe(e.Value), formatNumber(*e.Schema.Max))
	case "minLength", "pattern":
		return patternComplaint(e)
	case "maxLength":
		return fmt.Sprintf("has %d characters; the limit is %d", characterCount(e.Value), *e.Schema.MaxLength)
	case "minItems":
		return fmt.Sprintf("has %d items; the minimum is %d", itemCount(e.Value), e.Schema.MinItems)
	case "maxItems":
		return fmt.Sprintf("has %d items; the limit is %d", itemCount(e.Value), *e.Schema.MaxItems)
	case "maxProperties":
		return fmt.Sprintf("has too many keys; the limit is %d", *e.Schema.MaxProps)
	case "oneOf":
		return fmt.Sprintf("is %s; it must be %s", Describe(e.Value), e.Schema.Extensions["x-expected"])
	case "format":
		return fmt.Sprintf("is %s; it must be a %s (2026-05-04T12:00:00Z)", Describe(e.Value), e.Schema.Format)
	default:
		return e.Reason
	}
}

// secretExtension marks schemas whose values must not appear in errors.
const secretExtension = "x-secret"

func enumComplaint(e *openapi3.SchemaError) string {
	known := lists.Map(e.Schema.Enum, func(v any) string { return fmt.Sprint(v) })
	if len(known) == 1 {
		return fmt.Sprintf("is %s; it must be %q", Describe(e.Value), known[0])
	}
	return fmt.Sprintf("is %s; it must be one of %s", Describe(e.Value), strings.Join(known, ", "))
}

// patternComplaint says what the value must look like. It shows the schema's example, if any, because few people can
// read regular expressions.
func patternComplaint(e *openapi3.SchemaError) string {
	if text, _ := e.Value.(string); strings.TrimSpace(text) == "" {
		return "is empty; it must contain text"
	}
	if e.Schema.Example != nil {
		return fmt.Sprintf("is %s; it must look like %v", Describe(e.Value), e.Schema.Example)
	}
	return fmt.Sprintf("is %s; it must have the form %s", Describe(e.Value), e.Schema.Pattern)
}

func typeName(s *openapi3.Schema) string {
	switch {
	case s.Type.Is("integer"):
		return "a whole number"
	case s.Type.Is("array"):
		return "an array"
	case s.Type.Is("object"):
		return "an object"
	case s.Type.Is("boolean"):
		return "true or false"
	case s.Type.Is("number"):
		return "a number"
	default:
		return "a string"
	}
}

// Describe returns a short description of the value that its sender will recognise.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(Shorten(v))
	case float64:
		return formatNumber(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("a %T", v)
	}
}

// formatNumber writes a number without an exponent, such as 1000000, unless it is very large or small.
func formatNumber(f float64) string {
	if size := math.Abs(f); size < 1e15 && (size >= 1e-6 || size == 0) {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func itemCount(v any) int {
	list, _ := v.([]any)
	return len(list)
}

// ByteSize formats a limit in the units people use to configure it.
func ByteSize(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// characterCount counts code points, as the schema validator does.
func characterCount(v any) int {
	text, _ := v.(string)
	return utf8.RuneCountInString(text)
}

// dropAbsent removes the schema's fields that count as omitted: null fields, and limits with the value that means "no
// limit" (see Unlimited). It keeps fields that aren't in the schema.
func dropAbsent(schema *openapi3.Schema, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, property := range schema.Properties {
			field, given := v[name]
			if !given {
				continue
			}
			if field == nil || field == Unlimited(property.Value) {
				delete(v, name)
				continue
			}
			dropAbsent(property.Value, field)
		}
	case []any:
		if schema.Items != nil {
			for _, item := range v {
				dropAbsent(schema.Items.Value, item)
			}
		}
	}
}

// Unlimited returns the number, below the schema's minimum, that means "no limit" in this field, or nil if there is
// none.
func Unlimited(schema *openapi3.Schema) any {
	return schema.Extensions["x-unlimited"]
}
