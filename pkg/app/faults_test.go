package app

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/faultproxy"
	local "github.com/sluice/sluice/tools/local/engines"
)

// fleetFaults skips the test unless TEST_FAULTS is set, because it needs engines and takes several minutes. It returns
// a substring that selects combinations by name, such as "nats/refuse", or "" for all.
func fleetFaults(t *testing.T) (only string) {
	t.Helper()
	only = os.Getenv("TEST_FAULTS")
	if only == "" {
		t.Skip("TEST_FAULTS is not set: make faults runs it")
	}
	if only == "1" {
		return ""
	}
	return only
}

// behind starts a proxy in front of an address and returns the proxy's address.
func (f *faulty) behind(t *testing.T, name, address string) string {
	t.Helper()
	p, err := faultproxy.Start(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	f.proxies[name] = p
	return p.Addr()
}

// newBehindProxies returns a program, not yet started, that connects to NATS, PostgreSQL, Milvus and the model server
// through proxies.
func newBehindProxies(t *testing.T) *faulty {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	f := &faulty{proxies: map[string]*faultproxy.Proxy{}, pages: pagesFor(t)}
	stop := func(name string, stop func() error, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("starting %s: %v", name, err)
		}
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Errorf("stopping %s: %v", name, err)
			}
		})
	}
	nats, err := local.StartNATS(ctx, t.TempDir(), local.NATSOptions{Servers: 1, Temporary: true})
	stop("NATS", func() error { return nats.Stop() }, err)
	milvus, err := local.StartMilvus(ctx, t.TempDir(), local.MilvusOptions{Temporary: true})
	stop("Milvus", func() error { return milvus.Stop() }, err)
	database, err := url.Parse(local.PostgreSQLForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	model := newModelServer(t)
	t.Cleanup(model.CloseClientConnections)
	database.Host = f.behind(t, "catalog", database.Host)
	f.program = newProgram(t,
		"DATABASE_URL="+database.String(),
		"NATS_URL=nats://"+f.behind(t, "nats", strings.TrimPrefix(nats.Servers[0].URL(), "nats://")),
		"MILVUS_ADDR="+f.behind(t, "milvus", milvus.Addr()),
		"OPENAI_BASE_URL=http://"+f.behind(t, "openai", strings.TrimPrefix(model.URL, "http://"))+"/v1",
		"SLUICE_EMBED_MODEL=tiny", "SLUICE_CHAT_MODEL=chatty", "SLUICE_ALLOW_PRIVATE_ADDRESSES=true", "SLUICE_EMBEDDED_INDEX=false",
	)
	return f
}

// unharmed maps each dependency to the requests that succeed even while it is down.
var unharmed = map[string][]string{
	"catalog": nil,
	"nats":    {"delete", "crawl", "list", "chunks", "query", "agent", "stream"},
	"milvus":  {"upload", "keyed upload", "upsert", "update", "delete", "crawl", "list", "original"},
	"openai":  {"upload", "keyed upload", "upsert", "update", "delete", "crawl", "list", "chunks", "original"},
}

// faultModes lists the ways in which a dependency can fail. While a lasting mode is on, /readyz must report the
// dependency as down, and the requests in unharmed must succeed.
var faultModes = []struct {
	name  string
	mode  faultproxy.Mode
	lasts bool
}{
	{"refuse", faultproxy.Refuse(), true},
	{"blackhole", faultproxy.Blackhole(), true},
	{"slow", faultproxy.Slow(30*time.Millisecond, 1<<20), false},
	{"cut", faultproxy.CutAfter(3000), false},
	{"flap", faultproxy.Flap(700*time.Millisecond, 300*time.Millisecond), false},
}

// TestEveryDependencyMayFailAtEveryStep makes each dependency fail in each way while sending requests of every kind.
// Each request must be either executed or rejected with a temporary error, and /readyz must report the failure. Once
// the failure is over, everything must exist exactly once, without a restart.
func TestEveryDependencyMayFailAtEveryStep(t *testing.T) {
	only := fleetFaults(t)
	f := newBehindProxies(t)
	f.start()
	for _, dependency := range []string{"catalog", "nats", "milvus", "openai"} {
		for _, fault := range faultModes {
			cell := dependency + "/" + fault.name
			if !strings.Contains(cell, only) {
				continue
			}
			t.Run(cell, func(t *testing.T) {
				f.t = t
				r := f.prepare(dependency[:1] + fault.name)
				f.proxies[dependency].Set(fault.mode)
				if fault.lasts {
					f.saysDown(dependency)
				}
				f.strike(r)
				for _, s := range r.steps {
					if fault.lasts && !s.done() && slices.Contains(unharmed[dependency], s.name) {
						t.Errorf("%s does not need %s, and is refused: %s", s.name, dependency, s.reply.body)
					}
				}
				if fault.lasts {
					f.saysDown(dependency)
				}
				f.proxies[dependency].Set(faultproxy.Pass())
				f.heals(r)
			})
		}
	}
	f.t = t
}

// TestAProcessStartsWhenItsDependenciesAreUp starts a process while a dependency refuses connections or hangs.
func TestAProcessStartsWhenItsDependenciesAreUp(t *testing.T) {
	only := fleetFaults(t)
	f := newBehindProxies(t)
	for _, dependency := range []string{"catalog", "nats", "milvus", "openai"} {
		for _, fault := range faultModes[:2] {
			cell := "start/" + dependency + "/" + fault.name
			if !strings.Contains(cell, only) {
				continue
			}
			t.Run(cell, func(t *testing.T) {
				f.t = t
				f.proxies[dependency].Set(fault.mode)
				f.launch()
				ended := time.AfterFunc(5*time.Second, func() { f.proxies[dependency].Set(faultproxy.Pass()) })
				defer ended.Stop()
				f.eventually(90*time.Second, "the process is not ready though all is well", func() bool {
					select {
					case err := <-f.exited:
						f.exited <- err
						t.Fatalf("the process ended: %v\n%s", err, tail(f.stderr.String(), 2000))
					default:
					}
					status, down := f.ready()
					return status == http.StatusOK && len(down) == 0
				})
				f.must(f.terminate())
			})
		}
	}
	f.t = t
}
