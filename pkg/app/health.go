package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice/sluice/pkg/api"
)

// readyTimeout bounds what a probe waits for all dependencies together.
const readyTimeout = 3 * time.Second

// healthServer is what a worker process serves: /healthz, /readyz and /metrics, as the api process does.
type healthServer struct {
	listener net.Listener
	server   *http.Server
	served   *group
}

// serveHealth serves on the address, and profiles to who has the operator's key, if there is one.
func serveHealth(ctx context.Context, addr string, metrics prometheus.Gatherer, checks []api.Check, adminKey string, log *slog.Logger, failed chan<- error) (*healthServer, error) {
	listener, err := listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, http.StatusOK, healthBody{Status: "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, checks, log) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}))
	t := &healthServer{
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
func (t *healthServer) Addr() string { return t.listener.Addr().String() }

func (t *healthServer) stop() error {
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
	body, status := healthBody{Status: "ok", Checks: make([]healthCheck, len(checks))}, http.StatusOK
	var asking sync.WaitGroup
	for i, c := range checks { // at once: one that does not answer takes none of the others' time
		asking.Go(func() { body.Checks[i] = ask(ctx, c, log) })
	}
	asking.Wait()
	for _, c := range body.Checks {
		if c.Status != "ok" { // a worker can do nothing without it
			body.Status, status = "down", http.StatusServiceUnavailable
		}
	}
	writeStatus(w, status, body)
}

func ask(ctx context.Context, c api.Check, log *slog.Logger) healthCheck {
	check := healthCheck{Name: c.Name, Status: "ok"}
	switch err := c.Ready(ctx); {
	case err != nil:
		log.Warn("dependency is down", "dependency", c.Name, "error", err)
		check.Status, check.Error = "down", "unavailable"
	case c.Note != nil:
		check.Note = c.Note(ctx)
	}
	return check
}

func writeStatus(w http.ResponseWriter, status int, body healthBody) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the prober has gone
}

// newRegistry is a registry with what every process tells about itself.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sluice_build_info", Help: "1, labelled with what was built."}, []string{"version"})
	build.WithLabelValues(Version()).Set(1)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
	return r
}
