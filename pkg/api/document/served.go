package document

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// Serve returns the document that a server publishes, with the server's limits, engines and models. It also describes
// everything tolerated in requests, so that generated clients can send exactly what the server accepts.
func Serve(yaml []byte, l Limits, engines []domain.Engine, models []string) (Served, error) {
	doc, err := openapi3.NewLoader().LoadFromData(yaml)
	if err != nil {
		return Served{}, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	setLimits(doc, l)
	setEnums(doc, engines, models)
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			allowEmptyParameters(append(slices.Clone(item.Parameters), op.Parameters...))
			dropStreamSchemas(op.Responses)
			if op.RequestBody == nil {
				continue
			}
			if body := op.RequestBody.Value.Content["application/json"]; body != nil {
				allowNulls(body.Schema.Value, map[*openapi3.Schema]bool{})
			}
		}
	}
	encoded, err := doc.MarshalJSON()
	if err != nil {
		return Served{}, err
	}
	return pack(encoded), nil
}

// Served is the encoded OpenAPI document.
type Served struct {
	Plain  []byte
	Packed []byte // compressed with gzip
}

func pack(encoded []byte) Served {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(encoded) // cannot fail, because it writes to memory
	_ = z.Close()
	return Served{Plain: encoded, Packed: b.Bytes()}
}

// setEnums documents which engines and models requests may choose. Responses may name others, chosen under an earlier
// configuration.
func setEnums(doc *openapi3.T, engines []domain.Engine, models []string) {
	for _, of := range []struct {
		field, name string
		values      []any
	}{{"type", "OfferedEngine", toAny(engines)}, {"embeddingModel", "OfferedModel", toAny(models)}} {
		for _, schema := range []string{"DatastoreCreate", "DatastorePatch"} {
			properties := doc.Components.Schemas[schema].Value.Properties
			own := *properties[of.field].Value
			own.Enum = of.values
			doc.Components.Schemas[of.name] = openapi3.NewSchemaRef("", &own)
			properties[of.field] = openapi3.NewSchemaRef("#/components/schemas/"+of.name, &own)
		}
	}
}

func toAny[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// dropStreamSchemas removes event stream schemas, because a schema can only describe a single value.
func dropStreamSchemas(all *openapi3.Responses) {
	for _, r := range all.Map() {
		if stream := r.Value.Content["text/event-stream"]; stream != nil {
			stream.Schema = nil
		}
	}
}

// allowEmptyParameters documents that query parameters may be empty, which is the same as omitting them.
func allowEmptyParameters(all openapi3.Parameters) {
	for _, p := range all {
		if p.Value.In != openapi3.ParameterInQuery {
			continue
		}
		p.Value.AllowEmptyValue = true
		if own := *p.Value.Schema.Value; own.Pattern != "" {
			own.Pattern = "^$|" + own.Pattern
			p.Value.Schema = &openapi3.SchemaRef{Value: &own}
		}
	}
}

// exclusiveRange lists the integers strictly between two numbers.
func exclusiveRange(low, high float64) []any {
	var out []any
	for n := low + 1; n < high; n++ {
		out = append(out, n)
	}
	return out
}

// allowNulls documents that optional fields may be null, and that a limit may be the number that means "no limit". In
// both cases the field counts as omitted.
func allowNulls(schema *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if seen[schema] {
		return
	}
	seen[schema] = true
	for _, inner := range slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf, openapi3.SchemaRefs{schema.Items}) {
		if inner != nil {
			allowNulls(inner.Value, seen)
		}
	}
	for name, property := range schema.Properties {
		allowNulls(property.Value, seen)
		if property.Value.Nullable || slices.Contains(schema.Required, name) {
			continue
		}
		if property.Ref != "" { // nothing else is allowed next to $ref; with allOf, clients keep the schema's name
			schema.Properties[name] = openapi3.NewSchemaRef("", &openapi3.Schema{Nullable: true, AllOf: openapi3.SchemaRefs{property}})
			continue
		}
		own := *property.Value
		own.Nullable = true
		if n, isNumber := jsonbody.Unlimited(&own).(float64); isNumber {
			own.Not = &openapi3.SchemaRef{Value: &openapi3.Schema{Enum: exclusiveRange(n, *own.Min)}}
			own.Min = &n
		}
		if len(own.Enum) > 0 {
			own.Enum = append(slices.Clone(own.Enum), nil)
		}
		schema.Properties[name] = &openapi3.SchemaRef{Value: &own}
	}
}
