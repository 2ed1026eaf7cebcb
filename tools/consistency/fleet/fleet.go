// Package fleet runs a fleet on this machine for the consistency checker: api processes and ingestors with PostgreSQL,
// Milvus and a three-server NATS cluster, all real processes. It also injects faults into the fleet.
package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/faultproxy"
	"github.com/sluice/sluice/tools/local/engines"
)

// Options configures a fleet.
type Options struct {
	Program   string // path to the service's program
	Dir       string // for the processes' data; must exist
	APIs      int
	Ingestors int
	Tenants   int // workspaces, each with a key
	// Clock is the path to the processes' clock offset file. Leave it empty if the program wasn't built by Build: such a
	// program doesn't read the file.
	Clock string
	Out   io.Writer
}

// Fleet is a running fleet.
type Fleet struct {
	Options
	nats      *engines.NATS
	postgres  *engines.PostgreSQL
	milvus    *engines.Milvus
	apis      []*process
	ingestors []*process
	links     []link
	keys      []string
	damaged   int // the NATS server that gets damaged files; always the same
}

// link is a process's connection to a server through a proxy that can be made to fail.
type link struct {
	process, server string
	proxy           *faultproxy.Proxy
}

// Start starts a fleet and waits until it is ready. The caller must call Stop even on an error.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	f := &Fleet{Options: o}
	if f.Clock != "" {
		if err := setClock(f.Clock, 0); err != nil {
			return f, err
		}
	}
	if err := f.startEngines(ctx); err != nil {
		return f, err
	}
	key := "sk_consistency_" + strings.ToLower(rand.Text())
	for i := range o.APIs {
		p, err := f.connected(o.Program, fmt.Sprintf("api-%d", i+1), true, "SLUICE_API_KEY="+key, "SLUICE_NATS_REPLICAS=3", "SLUICE_WORKERS=false",
			"SLUICE_LIMIT_DISK=0", "SLUICE_ADMISSION_WAIT=1s", "SLUICE_AUDIT_EVERY=1m")
		if err != nil {
			return f, err
		}
		f.apis = append(f.apis, p)
	}
	worker := filepath.Join(o.Dir, "ingestor") // the name selects the kind of process
	program, err := filepath.Abs(o.Program)
	if err != nil {
		return f, err
	}
	if err := os.Symlink(program, worker); err != nil && !errors.Is(err, os.ErrExist) {
		return f, err
	}
	for i := range o.Ingestors {
		p, err := f.connected(worker, fmt.Sprintf("ingestor-%d", i+1), false)
		if err != nil {
			return f, err
		}
		f.ingestors = append(f.ingestors, p)
	}
	for _, p := range f.processes() { // the first one creates streams and tables for the others
		if err := p.start(); err != nil {
			return f, err
		}
		if err := p.waitReady(ctx); err != nil {
			return f, err
		}
	}
	f.keys = []string{key}
	for i := 1; i < o.Tenants; i++ {
		key, err := f.newKey(ctx, fmt.Sprintf("tenant-%d", i))
		if err != nil {
			return f, err
		}
		f.keys = append(f.keys, key)
	}
	return f, nil
}

func (f *Fleet) startEngines(ctx context.Context) (err error) {
	if f.nats, err = engines.StartNATS(ctx, filepath.Join(f.Dir, "nats"), engines.NATSOptions{NoAdvertise: true}); err != nil {
		return err
	}
	if f.postgres, err = engines.StartPostgreSQL(ctx, filepath.Join(f.Dir, "postgresql"), engines.PostgreSQLOptions{}); err != nil {
		return err
	}
	f.milvus, err = engines.StartMilvus(ctx, filepath.Join(f.Dir, "milvus"), engines.MilvusOptions{})
	return err
}

// connected prepares a process with its own proxies to the engines.
func (f *Fleet) connected(program, name string, withCatalog bool, env ...string) (*process, error) {
	through := func(server, address string) (string, error) {
		proxy, err := faultproxy.Start(address)
		if err != nil {
			return "", err
		}
		f.links = append(f.links, link{name, server, proxy})
		return proxy.Addr(), nil
	}
	var urls []string
	for i, s := range f.nats.Servers {
		addr, err := through(fmt.Sprintf("NATS server %d", i+1), s.Addr())
		if err != nil {
			return nil, err
		}
		urls = append(urls, "nats://"+addr)
	}
	milvus, err := through("Milvus", f.milvus.Addr())
	if err != nil {
		return nil, err
	}
	env = append(env, "NATS_URL="+strings.Join(urls, ","), "MILVUS_ADDR="+milvus)
	if withCatalog {
		u, err := url.Parse(f.postgres.URL())
		if err != nil {
			return nil, err
		}
		if u.Host, err = through("PostgreSQL", u.Host); err != nil {
			return nil, err
		}
		env = append(env, "DATABASE_URL="+u.String())
	}
	if f.Clock != "" {
		env = append(env, clockVariable+"="+f.Clock)
	}
	return newProcess(program, name, f.Dir, env...)
}

// newKey creates a workspace with an API key.
func (f *Fleet) newKey(ctx context.Context, workspace string) (string, error) {
	cmd := exec.CommandContext(ctx, f.Program, "keys", "create", "--workspace", workspace)
	cmd.Env = []string{"DATABASE_URL=" + f.postgres.URL(), "SLUICE_DATA_DIR=" + f.apis[0].dir, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	if f.Clock != "" {
		cmd.Env = append(cmd.Env, clockVariable+"="+f.Clock)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("creating a key of workspace %s: %w: %s", workspace, err, &errs)
	}
	key, _, _ := strings.Cut(string(out), "\n")
	return key, nil
}

// URLs returns the api processes' addresses.
func (f *Fleet) URLs() (urls []string) {
	for _, p := range f.apis {
		urls = append(urls, "http://"+p.addr)
	}
	return urls
}

// Keys returns one API key per workspace.
func (f *Fleet) Keys() []string { return f.keys }

func (f *Fleet) processes() []*process { return slices.Concat(f.apis, f.ingestors) }

// WaitReady waits until all processes are ready.
func (f *Fleet) WaitReady(ctx context.Context) error {
	for _, p := range f.processes() {
		if err := p.waitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Ended returns the number of unexpected exits by process name. They include processes that couldn't reach PostgreSQL
// or NATS for a minute while starting.
func (f *Fleet) Ended() map[string]int {
	ended := map[string]int{}
	for _, p := range f.processes() {
		p.mu.Lock()
		if p.ended > 0 {
			ended[p.name] = p.ended
		}
		p.mu.Unlock()
	}
	return ended
}

// Stop stops everything. It kills the processes: nobody needs their data any more.
func (f *Fleet) Stop() error {
	var all sync.WaitGroup
	for _, p := range f.processes() {
		all.Go(func() {
			_ = p.kill() // it may have exited
			p.watcher.Wait()
		})
	}
	all.Wait()
	var faults []error
	for _, l := range f.links {
		faults = append(faults, l.proxy.Close())
	}
	if f.milvus != nil {
		faults = append(faults, f.milvus.Kill())
	}
	if f.postgres != nil {
		faults = append(faults, f.postgres.Kill())
	}
	if f.nats != nil {
		for _, s := range f.nats.Servers {
			faults = append(faults, s.Kill())
		}
	}
	return errors.Join(faults...)
}
