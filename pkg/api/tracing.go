package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/telemetry"
)

// startSpan begins the request's span, under its route's template: paths hold what callers put there.
func (s *server) startSpan(c *gin.Context, id string) (context.Context, *telemetry.Span) {
	method, route := c.Request.Method, c.FullPath()
	if route == "" {
		method, route = "HTTP", "unknown"
	}
	return s.Traces.Request(c.Request.Context(), c.Request.Header, method+" "+route,
		telemetry.Text("http.request.method", method), telemetry.Text("http.route", route), telemetry.Text("sluice.request", id))
}

var errServed = errors.New("the request was answered with an error of the service's own")

// endSpan ends it. A request that is refused is served; one that the service cannot serve has failed.
func endSpan(span *telemetry.Span, status int) {
	span.Set(telemetry.Number("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.End(errServed)
		return
	}
	span.End(nil)
}
