package api

import (
	_ "embed" // the document is part of the program
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/domain"
)

//go:embed openapi.yaml
var document []byte

// bases are the addresses that every endpoint is served under.
var bases = []string{"", "/api"}

// operation is what the document says about one endpoint, beside what the generated code knows.
type operation struct {
	id           string
	scope        domain.Scope     // "" when no key is needed
	public       bool             // something public may be queried without a key
	body         *openapi3.Schema // of JSON; nil when the operation takes none
	bodyRequired bool
	multipart    bool // the body may also be multipart/form-data
	query        []*openapi3.Parameter
	idempotent   bool // takes an Idempotency-Key
	audited      bool // it matters later who called it
	secret       bool // its answer holds what must not be stored
	errors       form // of its errors
}

// spec is the document with the limits of this server filled in.
type spec struct {
	operations map[string]*operation // by method and Gin route, under every base
	fixed      map[string][]string   // methods by path, under every base, of paths without parameters

	agentFields map[string]bool // defined by the document, in requests or responses
}

func (s *spec) operation(method, route string) *operation { return s.operations[method+" "+route] }

// limits are what of a server's options is in its document.
type limits struct {
	uploadBytes, jsonBytes              int64
	queryChars, documents, pagesOfASite int
}

func limitsOf(o Options) limits {
	return limits{uploadBytes: o.MaxUploadBytes, jsonBytes: o.MaxJSONBytes, queryChars: o.MaxQueryChars, documents: o.MaxDocuments, pagesOfASite: o.MaxPages}
}

// specs are the documents by their limits: reading one takes longer than all else of a server's start, and nobody changes it
// afterwards. A program has one, tests have hundreds of servers.
var specs sync.Map

func specFor(o Options) (*spec, error) {
	load, _ := specs.LoadOrStore(limitsOf(o), sync.OnceValues(func() (*spec, error) { return loadSpec(o) }))
	return load.(func() (*spec, error))()
}

func loadSpec(o Options) (*spec, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	setLimits(doc, o)
	s := &spec{operations: map[string]*operation{}, fixed: map[string][]string{}, agentFields: map[string]bool{}}
	for _, name := range []string{"Agent", "AgentCreate"} {
		for field := range doc.Components.Schemas[name].Value.Properties {
			s.agentFields[field] = true
		}
	}
	for _, base := range bases {
		s.operations[http.MethodPost+" "+base+mcpPath] = &operation{id: "MCP", scope: domain.ScopeQuery, errors: formRPC}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o, err := newOperation(item, op)
			if err != nil {
				return nil, fmt.Errorf("reading %s %s of the OpenAPI document: %w", method, path, err)
			}
			o.audited = isAudited(method, path)
			for _, base := range bases {
				s.operations[method+" "+base+ginRoute(path)] = o
			}
		}
		if !strings.Contains(path, "{") {
			for _, base := range bases {
				s.fixed[base+path] = slices.Sorted(maps.Keys(item.Operations()))
			}
		}
	}
	return s, nil
}

// setLimits puts the configured limits where the document has the defaults.
func setLimits(doc *openapi3.T, o Options) {
	property := func(schema, name string) *openapi3.Schema {
		return doc.Components.Schemas[schema].Value.Properties[name].Value
	}
	for _, schema := range []string{"AgentQuery", "DatastoreQuery"} {
		n := uint64(o.MaxQueryChars)
		property(schema, "query").MaxLength = &n
	}
	documents := uint64(o.MaxDocuments)
	property("UpsertRequest", "documents").MaxItems = &documents
	pages := float64(o.MaxPages)
	property("DatasourceConfigCreate", "max_pages").Max = &pages
	property("DatasourcePatch", "config").Properties["max_pages"].Value.Max = &pages
	doc.Info.Description += fmt.Sprintf("\nLimits of this server: an uploaded file %s, a JSON body %s, %d documents an upsert, %d pages a web site, a query %d characters.\n",
		byteSize(o.MaxUploadBytes), byteSize(o.MaxJSONBytes), o.MaxDocuments, o.MaxPages, o.MaxQueryChars)
}

func newOperation(item *openapi3.PathItem, op *openapi3.Operation) (*operation, error) {
	o := &operation{id: op.OperationID}
	switch scope := op.Extensions["x-scope"]; scope {
	case "none":
	case string(domain.ScopeRead), string(domain.ScopeWrite), string(domain.ScopeQuery):
		o.scope = domain.Scope(scope.(string))
	default:
		return nil, fmt.Errorf("x-scope is %v", scope)
	}
	o.public = op.Extensions["x-public"] == true
	o.secret = op.Extensions["x-secret"] == true
	if op.Extensions["x-errors"] == "openai" {
		o.errors = formOpenAI
	}
	for _, p := range append(item.Parameters, op.Parameters...) {
		switch {
		case p.Value.In == openapi3.ParameterInQuery:
			o.query = append(o.query, p.Value)
		case p.Value.Name == idempotencyHeader:
			o.idempotent = true
		}
	}
	if op.RequestBody != nil {
		body := op.RequestBody.Value
		o.bodyRequired = body.Required
		if content := body.Content["application/json"]; content != nil {
			o.body = content.Schema.Value
		}
		o.multipart = body.Content["multipart/form-data"] != nil
	}
	return o, nil
}

// ginRoute writes a path of the document the way Gin does: {id} is :id.
func ginRoute(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}
