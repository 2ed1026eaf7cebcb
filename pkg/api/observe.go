package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/telemetry"
)

type metrics struct {
	inFlight prometheus.Gauge
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streamed prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_http_requests_in_flight", Help: "Requests in progress, including open streams.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_http_requests_total", Help: "Requests served, by route template and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_http_request_duration_seconds", Help: "Time from the first byte of the request to the last byte of the response.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route"}),
		streamed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_answer_stream_errors_total", Help: "Answers that failed after the stream had started.",
		}),
	}
	for _, c := range []prometheus.Collector{m.inFlight, m.requests, m.duration, m.streamed} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the API's metrics: %w", err)
		}
	}
	return m, nil
}

// observe counts a served request. The metrics' route label is the route's template without the base path. That limits
// the number of label values and counts requests under both base paths together.
func (m *metrics) observe(c *gin.Context, took time.Duration) {
	route, method := strings.TrimPrefix(c.FullPath(), "/api"), c.Request.Method
	if route == "" {
		route, method = "unknown", "any"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(c.Writer.Status())).Inc()
	m.duration.WithLabelValues(method, route).Observe(took.Seconds())
}

// GetMetrics implements StrictServerInterface.
func (s *server) GetMetrics(context.Context, GetMetricsRequestObject) (GetMetricsResponseObject, error) {
	families, err := s.Metrics.Gather()
	if err != nil {
		return nil, fmt.Errorf("gathering metrics: %w", err)
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return nil, fmt.Errorf("encoding metrics: %w", err)
		}
	}
	return GetMetrics200TextResponse(text.String()), nil
}

// observe assigns the request's id and records its metrics and span.
func (s *server) observe(c *gin.Context) {
	id := problem.RequestIDOf(c.Request, s.Secrets, s.NewID)
	c.Header(problem.RequestIDHeader, id)
	c.Header("X-Content-Type-Options", "nosniff")
	ctx, span := s.startSpan(c, id)
	c.Request = c.Request.WithContext(telemetry.WithLogAttrs(problem.WithRequestID(ctx, id), slog.String("request", id)))

	begin := time.Now()
	s.metrics.inFlight.Inc()
	defer func() {
		s.metrics.inFlight.Dec()
		endSpan(span, c.Writer.Status())
		s.auditServed(c)
		took := time.Since(begin)
		s.metrics.observe(c, took)
		s.log.Debug("request served", "request", id, "method", s.Secrets.Redact(c.Request.Method), "route", c.FullPath(), "status", c.Writer.Status(), "took", took)
	}()
	c.Next()
}

// startSpan starts the request's span. The span is named after the route's template, because paths contain arbitrary
// text from callers.
func (s *server) startSpan(c *gin.Context, id string) (context.Context, *telemetry.Span) {
	method, route := c.Request.Method, c.FullPath()
	if route == "" {
		method, route = "HTTP", "unknown"
	}
	return s.Traces.Request(c.Request.Context(), c.Request.Header, method+" "+route,
		telemetry.Text("http.request.method", method), telemetry.Text("http.route", route), telemetry.Text("sluice.request", id))
}

var errInternalResponse = errors.New("the request failed with an internal error")

// endSpan ends the span. Only 5xx statuses are marked as failures, because rejecting a bad request is not a service
// failure.
func endSpan(span *telemetry.Span, status int) {
	span.Set(telemetry.Number("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.End(errInternalResponse)
		return
	}
	span.End(nil)
}
