package main

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestTheClusterOfNATSForms starts three servers on loopback ports with the configuration from the compose files. Once
// JetStream has a leader that knows all of them, the servers have accepted each other.
func TestTheClusterOfNATSForms(t *testing.T) {
	const servers = 3
	t.Setenv("NATS_TOKEN", `"12e4567890abcdef"`)
	var routes []*url.URL
	for range servers {
		routes = append(routes, &url.URL{Scheme: "nats", User: url.UserPassword("cluster", "12e4567890abcdef"), Host: freeAddress(t)})
	}
	var started []*server.Server
	for i := range servers {
		t.Setenv("NATS_NAME", fmt.Sprintf("nats-%d", i+1))
		t.Setenv("NATS_ROUTES", `["nats://cluster:12e4567890abcdef@nats:6222"]`)
		options, err := server.ProcessConfigFile(filepath.Join("..", "..", "deployments", "compose", "nats-cluster.conf"))
		if err != nil {
			t.Fatal(err)
		}
		options.Host, options.Port, options.HTTPPort = "127.0.0.1", server.RANDOM_PORT, 0
		options.Cluster.Host, options.Cluster.Port = "127.0.0.1", port(t, routes[i].Host)
		options.Routes, options.StoreDir = routes, t.TempDir()
		options.NoLog, options.NoSigs = true, true
		s, err := server.NewServer(options)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		started = append(started, s)
	}
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, s := range started {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == servers {
				return
			}
		}
		select {
		case <-deadline:
			t.Fatal("the three servers have not found together within 30 s")
		case <-tick.C:
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func port(t *testing.T, address string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}
