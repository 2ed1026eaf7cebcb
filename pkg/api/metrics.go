package api

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// metrics are the API's own.
type metrics struct {
	inFlight prometheus.Gauge
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streamed prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_http_requests_in_flight", Help: "Requests being served, open streams among them.",
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_http_requests_total", Help: "Requests served, by route template and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_http_request_duration_seconds", Help: "From the request's first byte to the answer's last.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route"}),
		streamed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_answer_stream_errors_total", Help: "Answers that failed after their stream had opened.",
		}),
	}
	for _, c := range []prometheus.Collector{m.inFlight, m.requests, m.duration, m.streamed} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the API's metrics: %w", err)
		}
	}
	return m, nil
}

// observe counts a served request under its route's template without the base, so that labels are few and both bases
// are one.
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
