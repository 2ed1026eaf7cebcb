// Package natstest runs clusters of NATS servers for tests. These are real servers with JetStream. Each runs in its own
// process and can be killed, stopped, paused and restarted.
package natstest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/lists"
)

// Cluster is a NATS cluster that runs until the test ends.
type Cluster struct {
	t       testing.TB
	Servers []*Server
}

// Start runs a cluster of n servers and returns once all of them serve clients. The test binary must call Main first.
func Start(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	// All of 127.0.0.0/8 belongs to this machine, so a random address per cluster avoids port conflicts.
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
	var routes []string
	for i := range n {
		routes = append(routes, fmt.Sprintf("nats://%s:%d", host, 6222+i))
	}
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("n%d", i+1)
		s := &Server{Name: name, URL: fmt.Sprintf("nats://%s:%d", host, 4222+i), t: t, config: config{
			Name: name, Host: host, Port: 4222 + i, ClusterPort: 6222 + i, Routes: routes, Dir: filepath.Join(dir, name),
		}}
		c.Servers = append(c.Servers, s)
		t.Cleanup(s.Kill)
	}
	for _, s := range c.Servers {
		s.Launch()
	}
	for _, s := range c.Servers {
		s.wait()
	}
	return c
}

// URL returns the cluster's address for clients: the comma-separated addresses of all servers.
func (c *Cluster) URL() string {
	urls := lists.Map(c.Servers, func(s *Server) string { return s.URL })
	return strings.Join(urls, ",")
}

// Named returns the server with the given name, for example the leader of a stream.
func (c *Cluster) Named(name string) *Server {
	c.t.Helper()
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	c.t.Fatalf("the cluster has no server %q", name)
	return nil
}
