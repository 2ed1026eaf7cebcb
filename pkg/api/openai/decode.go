package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

// IgnoredHeader is the response header listing ignored parameters: those the endpoint does not know or support.
const IgnoredHeader = "Sluice-Ignored-Parameters"

// Maximum number of unknown parameters listed in the header.
const maxIgnored = 20

// Decode decodes a request's JSON body into `into`, a pointer to a struct. Field names are case-sensitive. Fields the
// struct doesn't have are ignored and listed in IgnoredHeader, because OpenAI's clients may send parameters newer than
// this service. A null field counts as absent unless the field's type implements json.Unmarshaler, which should return
// domain.Invalid errors.
func Decode(c *gin.Context, into any) error {
	object, err := BodyOf(c)
	if err != nil {
		return err
	}
	unknown := dropUnknown(object, reflect.TypeOf(into), "")
	if err := DecodeValue(object, into); err != nil {
		return err
	}
	Ignored(c, unknown...)
	return nil
}

// BodyOf returns the JSON object in a request's body. Prefer Decode if the field names are known in advance.
func BodyOf(c *gin.Context) (map[string]any, error) {
	body, ok := c.Request.Body.(*transfer.Checked)
	if !ok {
		return nil, errors.New("decoding a body that was not validated")
	}
	object, ok := body.Value.(map[string]any)
	if !ok {
		return nil, problem.Invalid(jsonbody.Fault("is %s; send a JSON object", jsonbody.Describe(body.Value)))
	}
	return object, nil
}

// Ignored adds parameter names to IgnoredHeader. Call it before the response begins.
func Ignored(c *gin.Context, names ...string) {
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	if len(names) > maxIgnored {
		names = append(names[:maxIgnored:maxIgnored], "…")
	}
	if before := c.Writer.Header().Get(IgnoredHeader); before != "" {
		names = append([]string{before}, names...)
	}
	c.Header(IgnoredHeader, headerText(strings.Join(names, ", ")))
}

// headerText replaces characters that headers can't contain.
func headerText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// DecodeValue decodes a value parsed from JSON. If it has the wrong type, the error is domain.CodeInvalid and names the
// field.
func DecodeValue(value, into any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a body: %w", err)
	}
	err = json.Unmarshal(encoded, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return domain.Invalid(jsonbody.FieldName(wrong.Field), "is %s; it must be %s", aJSON(wrong.Value), aType(wrong.Type))
	}
	if code := domain.CodeOf(err); err != nil && code != domain.CodeInvalid {
		return problem.Invalid(jsonbody.Fault("cannot be read: %v", err))
	}
	return err
}

// aJSON returns a phrase such as "a number" for use in error messages. `kind` is the kind of JSON value as named in
// errors from encoding/json.
func aJSON(kind string) string {
	switch kind, rest, _ := strings.Cut(kind, " "); kind {
	case "object", "array":
		return "an " + kind
	case "bool":
		return "true or false"
	case "number":
		if rest != "" {
			return rest
		}
		return "a number"
	default:
		return "a " + kind
	}
}

// aType returns a phrase like aJSON's for the JSON value that decodes into a Go type.
func aType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// dropUnknown removes fields that the type does not have, at every level, and returns their paths.
func dropUnknown(value any, t reflect.Type, path string) (unknown []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	switch v := value.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for i, item := range v {
				unknown = append(unknown, dropUnknown(item, t.Elem(), path+"["+strconv.Itoa(i)+"]")...)
			}
		}
	case map[string]any:
		if t.Kind() == reflect.Struct {
			fields := fieldsOf(t)
			for name, item := range v {
				field, known := fields[name]
				if !known {
					unknown = append(unknown, jsonbody.Join(path, name))
					delete(v, name)
					continue
				}
				unknown = append(unknown, dropUnknown(item, field, jsonbody.Join(path, name))...)
			}
		}
	}
	return unknown
}

// fieldsOf maps JSON names to the types of a struct's fields.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for inner, kind := range fieldsOf(f.Type) {
				out[inner] = kind
			}
		case name != "" && name != "-":
			out[name] = f.Type
		}
	}
	return out
}
