package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/api/access"
)

// Time limit for checking all dependencies in one probe.
const readyTimeout = 3 * time.Second

// healthServer serves /healthz, /readyz and /metrics in a worker process. The api process serves them along with its
// API.
type healthServer struct {
	listener net.Listener
	server   *http.Server
	served   *group
}

// serveHealth starts a healthServer. If adminKey is set, it also serves profiles to the operator.
func serveHealth(ctx context.Context, addr string, metrics prometheus.Gatherer, checks []api.Check, adminKey string, hosts []string, log *slog.Logger, failed chan<- error) (*healthServer, error) {
	listener, err := listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, http.StatusOK, api.Health{Status: api.HealthStatusOk})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, checks, log) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}))
	t := &healthServer{
		listener: listener,
		served:   newGroup(ctx, failed),
		server: &http.Server{
			Handler: guardHost(listener, hosts, withProfiles(adminKey, mux)), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
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

// guardHost protects a server on a loopback address against DNS rebinding, by accepting only requests to a loopback
// name or one of `hosts`.
func guardHost(listener net.Listener, hosts []string, next http.Handler) http.Handler {
	if at, isTCP := listener.Addr().(*net.TCPAddr); !isTCP || !at.IP.IsLoopback() {
		return next
	}
	return access.RequireHost(hosts, next)
}

// Addr returns the address that the server listens on.
func (t *healthServer) Addr() string { return t.listener.Addr().String() }

func (t *healthServer) stop() error {
	err := t.server.Close()
	t.served.stop()
	return err
}

// ready checks all dependencies. A worker is ready only if all of them are up. The response names those that are down,
// and the log says why.
func ready(w http.ResponseWriter, r *http.Request, checks []api.Check, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	body, status := api.Readiness{Status: api.ReadinessStatusOk, Checks: api.RunChecks(ctx, checks, log)}, http.StatusOK
	if slices.ContainsFunc(body.Checks, func(c api.DependencyCheck) bool { return c.Status != api.DependencyCheckStatusOk }) {
		body.Status, status = api.ReadinessStatusDown, http.StatusServiceUnavailable
	}
	writeStatus(w, status, body)
}

func writeStatus(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the prober has disconnected
}

// recorded returns checks that also record their results in the metric sluice_dependency_up.
func recorded(r prometheus.Registerer, checks []api.Check) []api.Check {
	up := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sluice_dependency_up", Help: "1 if the dependency was reachable when /readyz was last requested, otherwise 0.",
	}, []string{"dependency"})
	r.MustRegister(up)
	out := slices.Clone(checks)
	for i, c := range checks {
		out[i].Ready = func(ctx context.Context) error {
			err := c.Ready(ctx)
			result := 1.0
			if err != nil {
				result = 0
			}
			up.WithLabelValues(c.Name).Set(result)
			return err
		}
	}
	return out
}

// newRegistry returns a registry with the metrics common to all processes.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sluice_build_info", Help: "Always 1, labelled with the version."}, []string{"version"})
	build.WithLabelValues(Version()).Set(1)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
	return r
}
