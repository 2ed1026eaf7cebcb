package engines

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// runNATS runs one of the cluster's servers in this process until the parent sends a command or dies.
func (g *guard) runNATS(words <-chan string) error {
	opts := g.spec.NATS.options(g.spec.Log)
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("making the NATS server: %w", err)
	}
	srv.ConfigureLogger()
	go srv.Start()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- waitForNATS(ctx, srv, len(opts.Routes) > 0) }()
	for {
		select {
		case err := <-ready:
			if err != nil {
				return err
			}
			if err := g.out.Encode(report{Ready: true}); err != nil {
				return err
			}
			ready = nil
		case word := <-words:
			if word == commandKill {
				return killSelf() // no deferred calls, no flush: like a crash
			}
			shutDown(srv)
			if word == "" {
				g.removeIfOrphaned()
			}
			return nil
		}
	}
}

// shutDown shuts the server down, with a timeout.
func shutDown(srv *server.Server) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		srv.Shutdown()
		srv.WaitForShutdown()
	}()
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

func killSelf() error {
	me, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return me.Kill()
}

// waitForNATS waits until the server accepts clients and its JetStream is up to date with the cluster.
func waitForNATS(ctx context.Context, srv *server.Server, clustered bool) error {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		if srv.ReadyForConnections(readyEvery) && (!clustered || srv.JetStreamIsCurrent()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s", startTimeout)
		case <-tick.C:
		}
	}
}

func (n *natsSpec) options(log string) *server.Options {
	opts := &server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Port,
		JetStream: true, StoreDir: n.Dir, SyncAlways: n.SyncAlways,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 8 << 30,
		LogFile: log, NoSigs: true, DisableJetStreamBanner: true,
	}
	if len(n.Routes) > 0 {
		opts.Cluster = server.ClusterOpts{Name: "local", Host: "127.0.0.1", Port: n.ClusterPort, NoAdvertise: n.NoAdvertise}
		opts.Routes = server.RoutesFromStr(strings.Join(n.Routes, ","))
	}
	return opts
}
