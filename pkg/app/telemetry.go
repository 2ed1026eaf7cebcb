package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
)

// readyTimeout bounds what a probe waits for all dependencies together.
const readyTimeout = 3 * time.Second

// telemetry is what a worker process serves: /healthz, /readyz and /metrics, as the api process does.
type telemetry struct {
	listener net.Listener
	server   *http.Server
	served   *group
}

// startTelemetry serves on the address, and profiles to who has the operator's key, if there is one.
func startTelemetry(ctx context.Context, addr string, metrics prometheus.Gatherer, checks []api.Check, adminKey string, log *slog.Logger, failed chan<- error) (*telemetry, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on SLUICE_ADDR: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, http.StatusOK, healthBody{Status: "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, checks, log) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}))
	t := &telemetry{
		listener: listener,
		served:   newGroup(ctx, failed),
		server: &http.Server{
			Handler: withProfiles(adminKey, mux), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
	}
	t.served.run("serving health and metrics", func(context.Context) error {
		if err := t.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return t, nil
}

// Addr is where it listens.
func (t *telemetry) Addr() string { return t.listener.Addr().String() }

func (t *telemetry) stop() error {
	err := t.server.Close()
	t.served.stop()
	return err
}

// healthBody has the form of the api process's answers.
type healthBody struct {
	Status string        `json:"status"`
	Checks []healthCheck `json:"checks,omitempty"`
}

type healthCheck struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	Note   string `json:"note,omitempty"`
}

// ready asks every dependency. Callers learn which one is down, the log why.
func ready(w http.ResponseWriter, r *http.Request, checks []api.Check, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	body, status := healthBody{Status: "ok"}, http.StatusOK
	for _, c := range checks {
		check := healthCheck{Name: c.Name, Status: "ok"}
		switch err := c.Ready(ctx); {
		case err != nil: // a worker can do nothing without it
			log.Warn("dependency is down", "dependency", c.Name, "error", err)
			check.Status, check.Error = "down", "unavailable"
			body.Status, status = "down", http.StatusServiceUnavailable
		case c.Note != nil:
			check.Note = c.Note(ctx)
		}
		body.Checks = append(body.Checks, check)
	}
	writeStatus(w, status, body)
}

func writeStatus(w http.ResponseWriter, status int, body healthBody) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober has gone
}

// newRegistry is a registry with what every process tells about itself.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// jobMetrics counts what became of the jobs that this process worked on.
type jobMetrics struct {
	ended *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

func newJobMetrics(r prometheus.Registerer) *jobMetrics {
	m := &jobMetrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_jobs_total", Help: "Deliveries of jobs dealt with by this process, by kind and result.",
		}, []string{"kind", "result"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_job_duration_seconds", Help: "How long jobs ran in this process.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}, []string{"kind"}),
	}
	r.MustRegister(m.ended, m.took)
	return m
}

func (m *jobMetrics) observe(o jobs.Outcome) {
	m.ended.WithLabelValues(string(o.Kind), string(o.Result)).Inc()
	if o.Took > 0 {
		m.took.WithLabelValues(string(o.Kind)).Observe(o.Took.Seconds())
	}
}

// backlogs tells how many jobs wait, for autoscaling and alerts. It asks when it is scraped.
type backlogs struct {
	broker  *jobs.Broker
	waiting *prometheus.Desc
	taken   *prometheus.Desc
	log     *slog.Logger
}

func newBacklogs(b *jobs.Broker, log *slog.Logger) *backlogs {
	return &backlogs{
		broker:  b,
		waiting: prometheus.NewDesc("sluice_jobs_waiting", "Jobs in the stream that no worker has taken yet, by lane.", []string{"lane"}, nil),
		taken:   prometheus.NewDesc("sluice_jobs_taken", "Jobs that run, or wait for another attempt, by lane.", []string{"lane"}, nil),
		log:     log,
	}
}

// Describe implements prometheus.Collector.
func (b *backlogs) Describe(ch chan<- *prometheus.Desc) { ch <- b.waiting; ch <- b.taken }

// Collect implements prometheus.Collector. A lane that cannot be asked is left out.
func (b *backlogs) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	for _, lane := range domain.Lanes() {
		n, err := b.broker.Backlog(ctx, lane)
		if err != nil {
			b.log.Debug("counting waiting jobs", "lane", lane, "error", err)
			continue
		}
		ch <- prometheus.MustNewConstMetric(b.waiting, prometheus.GaugeValue, float64(n.Waiting), string(lane))
		ch <- prometheus.MustNewConstMetric(b.taken, prometheus.GaugeValue, float64(n.Taken), string(lane))
	}
}
