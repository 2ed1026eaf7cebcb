package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// Body is the kind of body an endpoint expects.
type Body int

// Kinds of bodies.
const (
	NoBody    Body = iota
	JSON           // an object; read it with Decode
	Multipart      // a form with a file; read it with http.Request.MultipartReader
)

// Endpoint describes an endpoint that isn't in the OpenAPI document. It is served under each of document.Bases.
type Endpoint struct {
	ID     string // operation name in the audit log, such as DeleteFile
	Method string
	Path   string       // Gin route without the base path, such as /v1/files/:id; name the first parameter id
	Scope  domain.Scope // scope required of the caller's key
	Body   Body
	// Idempotent means that requests may have an Idempotency-Key. The ids of created resources must then come from
	// idempotency.ID.
	Idempotent bool
	Audited    bool // whether the audit log records calls; it always records DELETE calls
	// Serve writes the response, or returns an error before writing anything. access.CallerOf returns the caller.
	Serve func(c *gin.Context) error
}

// Reply sends a JSON response with status 200.
func Reply(c *gin.Context, v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the response: %w", err)
	}
	c.Header("Content-Type", "application/json")
	c.Header("Content-Length", strconv.Itoa(len(encoded)))
	c.Status(http.StatusOK)
	_, _ = c.Writer.Write(encoded) // an error means that the client has disconnected
	return nil
}
