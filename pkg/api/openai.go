package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/openai"
)

// openAIEndpoints returns the endpoints of OpenAI's API that the OpenAPI document does not describe.
func (s *server) openAIEndpoints() []openai.Endpoint {
	return nil
}

// operationsOf returns the operations of endpoints, by method and Gin route, once for each base path.
func operationsOf(endpoints []openai.Endpoint) map[string]*document.Operation {
	out := map[string]*document.Operation{}
	for _, e := range endpoints {
		op := &document.Operation{
			ID: e.ID, Scope: e.Scope, Undescribed: true, BodyRequired: e.Body == openai.JSON, Multipart: e.Body == openai.Multipart,
			Idempotent: e.Idempotent, Audited: e.Audited || e.Method == http.MethodDelete,
		}
		for _, base := range document.Bases {
			out[e.Method+" "+base+e.Path] = op
		}
	}
	return out
}

// mount registers the endpoints below a base path.
func (s *server) mount(r *gin.Engine, base string) {
	for _, e := range s.openai {
		r.Handle(e.Method, base+e.Path, func(c *gin.Context) {
			if err := e.Serve(c); err != nil {
				s.fail(c, err)
			}
		})
	}
}
