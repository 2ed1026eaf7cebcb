// Package document reads the OpenAPI document. It describes the operations, validates their parameters and bodies, and
// produces the document that a server publishes, with the server's own limits. Only this package and jsonbody read
// schemas; pkg/api may import it.
package document

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// Bases are the path prefixes under which every endpoint is served.
var Bases = []string{"", "/api"}

// Operation holds the endpoint properties that the document defines but the generated code lacks.
type Operation struct {
	ID           string
	Scope        domain.Scope // "" if no key is needed
	Public       bool         // whether public resources may be queried without a key
	BodyRequired bool
	Multipart    bool // whether the body may also be multipart/form-data
	Idempotent   bool // whether requests may have an Idempotency-Key
	Audited      bool // whether calls are recorded in the audit log
	Secret       bool // whether the response contains a secret and must not be stored
	Undescribed  bool // whether the operation is missing from the document, so that its handler validates the request

	body  *openapi3.Schema // JSON body's schema; nil if there is none
	query []*openapi3.Parameter
	items openapi3.Schemas // fields of the listed resources, if the response is a list
}

// TakesJSON reports whether the operation has a JSON body.
func (op *Operation) TakesJSON() bool { return op.body != nil }

// Document is one server's OpenAPI document, with that server's limits.
type Document struct {
	operations map[string]*Operation // by method and Gin route, for each base path
	fixed      map[string][]string   // methods by path, for paths without parameters, for each base path

	agentFields map[string]bool // the agent fields defined in the document, for requests or responses
}

// Operation returns the operation for a method and a Gin route, or nil if it isn't in the document.
func (d *Document) Operation(method, route string) *Operation { return d.operations[method+" "+route] }

// Methods returns the methods that the document defines for a path, or false if the path has parameters or isn't in the
// document.
func (d *Document) Methods(path string) ([]string, bool) {
	methods, isFixed := d.fixed[path]
	return methods, isFixed
}

// DefinesAgentField reports whether the document defines an agent field, for requests or responses.
func (d *Document) DefinesAgentField(name string) bool { return d.agentFields[name] }

// Limits are the server limits included in the OpenAPI document.
type Limits struct {
	UploadBytes, JSONBytes             int64
	QueryChars, Documents, PagesOfSite int
}

// loaded caches documents by their limits. It exists for tests, which start hundreds of servers: reading the document
// takes up most of a server's start-up time.
var loaded sync.Map

// Load reads the document. All callers must pass the same yaml, because it isn't part of the cache key.
func Load(yaml []byte, l Limits) (*Document, error) {
	load, _ := loaded.LoadOrStore(l, sync.OnceValues(func() (*Document, error) { return read(yaml, l) }))
	return load.(func() (*Document, error))()
}

func read(yaml []byte, l Limits) (*Document, error) {
	doc, err := openapi3.NewLoader().LoadFromData(yaml)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	setLimits(doc, l)
	s := &Document{operations: map[string]*Operation{}, fixed: map[string][]string{}, agentFields: map[string]bool{}}
	for _, name := range []string{"Agent", "AgentCreate"} {
		for field := range doc.Components.Schemas[name].Value.Properties {
			s.agentFields[field] = true
		}
	}
	for _, base := range Bases {
		s.operations[http.MethodPost+" "+base+problem.MCPPath] = &Operation{ID: "MCP", Scope: domain.ScopeQuery}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o, err := newOperation(item, op)
			if err != nil {
				return nil, fmt.Errorf("reading %s %s of the OpenAPI document: %w", method, path, err)
			}
			o.Audited = isAudited(method, path)
			for _, base := range Bases {
				s.operations[method+" "+base+ginRoute(path)] = o
			}
		}
		if !strings.Contains(path, "{") {
			for _, base := range Bases {
				s.fixed[base+path] = slices.Sorted(maps.Keys(item.Operations()))
			}
		}
	}
	return s, nil
}

// setLimits replaces the document's default limits with the configured ones.
func setLimits(doc *openapi3.T, l Limits) {
	property := func(schema, name string) *openapi3.Schema {
		return doc.Components.Schemas[schema].Value.Properties[name].Value
	}
	for _, schema := range []string{"AgentQuery", "DatastoreQuery"} {
		n := uint64(l.QueryChars)
		property(schema, "query").MaxLength = &n
	}
	chars := uint64(l.QueryChars)
	property("DatastoreQuery", "queries").Items.Value.MaxLength = &chars
	documents := uint64(l.Documents)
	property("UpsertRequest", "documents").MaxItems = &documents
	pages := float64(l.PagesOfSite)
	property("DatasourceConfigCreate", "max_pages").Max = &pages
	property("DatasourcePatch", "config").Properties["max_pages"].Value.Max = &pages
	doc.Info.Description += fmt.Sprintf("\nThis server's limits: %s per uploaded file, %s per JSON body, %d documents per upsert, %d pages per web site, and %d characters per query.\n",
		jsonbody.ByteSize(l.UploadBytes), jsonbody.ByteSize(l.JSONBytes), l.Documents, l.PagesOfSite, l.QueryChars)
}

func newOperation(item *openapi3.PathItem, op *openapi3.Operation) (*Operation, error) {
	o := &Operation{ID: op.OperationID}
	switch scope := op.Extensions["x-scope"]; scope {
	case "none":
	case string(domain.ScopeRead), string(domain.ScopeWrite), string(domain.ScopeQuery):
		o.Scope = domain.Scope(scope.(string))
	default:
		return nil, fmt.Errorf("x-scope is %v", scope)
	}
	o.Public = op.Extensions["x-public"] == true
	o.Secret = op.Extensions["x-secret"] == true
	for _, p := range append(item.Parameters, op.Parameters...) {
		switch {
		case p.Value.In == openapi3.ParameterInQuery:
			o.query = append(o.query, p.Value)
		case p.Value.Name == "Idempotency-Key":
			o.Idempotent = true
		}
	}
	o.items = listedFields(op)
	if op.RequestBody != nil {
		body := op.RequestBody.Value
		o.BodyRequired = body.Required
		if content := body.Content["application/json"]; content != nil {
			o.body = content.Schema.Value
		}
		o.Multipart = body.Content["multipart/form-data"] != nil
	}
	return o, nil
}

// listedFields returns the fields of the resources that the operation lists, or nil if it returns no list.
func listedFields(op *openapi3.Operation) openapi3.Schemas {
	ok := op.Responses.Status(http.StatusOK)
	if ok == nil || ok.Value.Content["application/json"] == nil {
		return nil
	}
	data := ok.Value.Content["application/json"].Schema.Value.Properties["data"]
	if data == nil || data.Value.Items == nil {
		return nil
	}
	return data.Value.Items.Value.Properties
}

// ginRoute converts one of the document's paths to Gin's notation: {id} becomes :id.
func ginRoute(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// isAudited reports whether calls to the operation are audited: deletions, and changes to keys or limits.
func isAudited(method, path string) bool {
	return method == http.MethodDelete ||
		method != http.MethodGet && (strings.HasPrefix(path, "/keys") || strings.HasPrefix(path, "/usage/limits"))
}
