package engines

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
)

// NATS is a cluster of NATS servers with JetStream, each a process of its own.
type NATS struct {
	Servers []*NATSServer
}

// NATSServer is one server of a cluster.
type NATSServer struct {
	*Process
	addr string
}

// URL is the address of this server, "nats://127.0.0.1:port".
func (s *NATSServer) URL() string { return "nats://" + s.addr }

// URL lists the addresses of all servers, as NATS_URL takes them.
func (n *NATS) URL() string {
	urls := make([]string, len(n.Servers))
	for i, s := range n.Servers {
		urls[i] = s.URL()
	}
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

// NATSOptions are the settings of a cluster. The zero value is good for tests.
type NATSOptions struct {
	// Servers is the number of servers. Default 3.
	Servers int
	// SyncAlways has every write on disk before it is acknowledged: it then survives the loss of power, not only of
	// the process. Default false.
	SyncAlways bool
	// Temporary says that the directory is to be deleted if this process ends without stopping the engine.
	Temporary bool
}

// natsSpec is what the guard of a NATS server is to be.
type natsSpec struct {
	Name              string
	Dir               string
	Port, ClusterPort int
	Routes            []string // of all servers, itself included
	SyncAlways        bool
}

// StartNATS starts a cluster with its data in the directory, which is made if it is missing, and returns when the
// cluster has elected its leader.
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
		specs[i] = natsSpec{Name: name, Dir: own, Port: port, ClusterPort: cluster, SyncAlways: o.SyncAlways}
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
		n.Servers[i] = &NATSServer{addr: loopback(own.Port), Process: &Process{name: own.Name, launch: func(ctx context.Context) (*child, error) {
			return launchChild(ctx, s, apart(), nil)
		}}}
	}
	faults := make([]error, len(n.Servers))
	var all sync.WaitGroup
	for i, s := range n.Servers {
		all.Go(func() { faults[i] = s.start(ctx) }) // together: one is ready when the cluster has a leader
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}
