package engines

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/lists"
)

// NATS is a cluster of NATS servers with JetStream, each in a separate process.
type NATS struct {
	Servers []*NATSServer
}

// NATSServer is one server in a cluster.
type NATSServer struct {
	*Process
	addr string
	dir  string
}

// Addr returns this server's address, "127.0.0.1:port".
func (s *NATSServer) Addr() string { return s.addr }

// Dir returns the directory with this server's data.
func (s *NATSServer) Dir() string { return s.dir }

// URL returns this server's address, "nats://127.0.0.1:port".
func (s *NATSServer) URL() string { return "nats://" + s.addr }

// URL returns the addresses of all servers, in the format of NATS_URL.
func (n *NATS) URL() string {
	urls := lists.Map(n.Servers, func(s *NATSServer) string { return s.URL() })
	return strings.Join(urls, ",")
}

// Stop stops all servers.
func (n *NATS) Stop() error {
	faults := make([]error, len(n.Servers))
	var all sync.WaitGroup
	for i, s := range n.Servers {
		all.Go(func() { faults[i] = s.Stop() })
	}
	all.Wait()
	return errors.Join(faults...)
}

// NATSOptions are the options for StartNATS. The zero value suits tests.
type NATSOptions struct {
	// Servers is the number of servers. Default: 3.
	Servers int
	// SyncAlways makes every server write data to disk before acknowledging it, so that it survives not only a process
	// crash but a power failure. Default: false.
	SyncAlways bool
	// NoAdvertise keeps the servers from telling clients about each other. A client then uses only the addresses it was
	// given, for example those of proxies. Default: false.
	NoAdvertise bool
	// Temporary deletes the directory if this process exits without stopping the engine.
	Temporary bool
}

// natsSpec is a NATS server's configuration.
type natsSpec struct {
	Name              string
	Dir               string
	Port, ClusterPort int
	Routes            []string // addresses of all servers, including this one
	SyncAlways        bool
	NoAdvertise       bool
}

// StartNATS starts a cluster with its data in the directory, which it creates if necessary, and waits until the cluster
// has elected its leader.
func StartNATS(ctx context.Context, dir string, o NATSOptions) (*NATS, error) {
	if o.Servers <= 0 {
		o.Servers = 3
	}
	specs := make([]natsSpec, o.Servers)
	n := &NATS{Servers: make([]*NATSServer, o.Servers)}
	var routes []string
	for i := range specs {
		name := fmt.Sprintf("nats-%d", i+1)
		own, port, err := prepare(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		cluster, err := portOf(own, "cluster-port")
		if err != nil {
			return nil, fmt.Errorf("choosing a port: %w", err)
		}
		specs[i] = natsSpec{Name: name, Dir: own, Port: port, ClusterPort: cluster, SyncAlways: o.SyncAlways, NoAdvertise: o.NoAdvertise}
		routes = append(routes, "nats://"+loopback(cluster))
	}
	for i, own := range specs {
		if o.Servers > 1 {
			own.Routes = routes
		}
		s := spec{NATS: &own, Log: filepath.Join(own.Dir, "server.log")}
		if o.Temporary {
			s.RemoveIfOrphaned = own.Dir
		}
		n.Servers[i] = &NATSServer{addr: loopback(own.Port), dir: own.Dir, Process: &Process{name: own.Name, launch: func(ctx context.Context) (*child, error) {
			return launchChild(ctx, s, inNewSession(), nil)
		}}}
	}
	faults := make([]error, len(n.Servers))
	var all sync.WaitGroup
	for i, s := range n.Servers {
		all.Go(func() { faults[i] = s.start(ctx) }) // concurrently: no server is ready before the cluster has a leader
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}
