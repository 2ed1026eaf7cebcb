package vectorstores

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// call is a request with its caller.
type call struct {
	gin    *gin.Context
	ctx    context.Context // the HTTP request's context
	caller access.Caller
	ws     string // the caller's workspace
}

// serve adapts a handler method to Gin.
func (h *handler) serve(f func(*call) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		ctx, caller := access.CallerOf(c)
		return f(&call{gin: c, ctx: ctx, caller: caller, ws: caller.Workspace()})
	}
}

func (c *call) storeID() (string, error) { return openai.VectorStore.Parse(c.gin.Param("id")) }

// storeError turns the catalog's error for a missing vector store into the one that OpenAI's clients expect. Other
// errors stay unchanged.
func (c *call) storeError(err error) error {
	if domain.CodeOf(err) == domain.CodeNotFound {
		return openai.VectorStore.NotFound(c.gin.Param("id"))
	}
	return err
}

func (c *call) page() (catalog.FilePage, error) {
	p, err := openai.ReadPage(c.gin.Request.URL.Query(), openai.DefaultLimit, openai.MaxLimit)
	return catalog.FilePage{Limit: p.Limit, Ascending: p.Ascending, After: openai.BareID(p.After), Before: openai.BareID(p.Before)}, err
}

func (c *call) reply(v any) error { return openai.Reply(c.gin, v) }

type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}
