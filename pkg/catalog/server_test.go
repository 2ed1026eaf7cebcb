package catalog_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/tools/local/engines"
)

// second opens the same database again, as another process would.
func second(t testing.TB, address string) *catalog.Catalog {
	t.Helper()
	return open(t, catalog.Options{URL: address, Connections: 4})
}

func TestProcessesThatShareAServer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	schemas := newSchemas(t)
	t.Run("eight processes that start at once on an empty database make one schema", func(t *testing.T) {
		t.Parallel()
		address := schemas.take(t)
		var starting sync.WaitGroup
		faults := make([]error, 8)
		for i := range faults {
			starting.Go(func() {
				c, err := catalog.Open(ctx, catalog.Options{URL: address, Connections: 2})
				if err != nil {
					faults[i] = err
					return
				}
				faults[i] = errors.Join(c.EnsureWorkspace(ctx, "ws", "test"), c.Close())
			})
		}
		starting.Wait()
		if err := errors.Join(faults...); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a turn in a conversation that one process has another one waits for, and takes when the first has died", func(t *testing.T) {
		t.Parallel()
		address := schemas.take(t)
		a, b := second(t, address), second(t, address)
		d := newDatasource(t, a)
		agent, err := a.CreateAgent(ctx, domain.Agent{ID: domain.NewID(), WorkspaceID: d.WorkspaceID, DatastoreIDs: []string{d.DatastoreID}})
		if err != nil {
			t.Fatal(err)
		}
		talk, err := a.EnsureConversation(ctx, domain.Conversation{ID: domain.NewID(), WorkspaceID: d.WorkspaceID, AgentID: agent.ID, VisitorID: "anna"})
		if err != nil {
			t.Fatal(err)
		}
		take := func(c *catalog.Catalog, holder string, ttl time.Duration, want bool) {
			t.Helper()
			if got, err := c.Lock(ctx, talk.ID, holder, ttl); err != nil || got != want {
				t.Fatalf("%s: %v, %v", holder, got, err)
			}
		}
		take(a, "a", time.Hour, true)
		take(b, "b", time.Hour, false)
		take(a, "a", time.Nanosecond, true) // last renewal of a process that then dies
		take(b, "b", time.Hour, true)
		take(a, "a", time.Hour, false)
		if err := b.Unlock(ctx, talk.ID, "b"); err != nil {
			t.Fatal(err)
		}
		take(a, "a", time.Hour, true)
	})
	t.Run("a process is woken by what another one has queued", func(t *testing.T) {
		t.Parallel()
		address := schemas.take(t)
		a, b := second(t, address), second(t, address)
		<-b.OutboxWake() // the signal sent on opening
		<-b.SweepWake()
		d := newDatasource(t, a)
		within(t, b.OutboxWake(), "the outbox")
		if _, err := a.DeleteDatasource(ctx, "ws", d.ID); err != nil {
			t.Fatal(err)
		}
		within(t, b.SweepWake(), "sweeps")
	})
	t.Run("what one process holds another cannot, until it is released or the process has ended", func(t *testing.T) {
		t.Parallel()
		address := schemas.take(t)
		a, b, stranger := second(t, address), second(t, address), second(t, schemas.take(t))
		release, err := a.Hold(ctx, "index")
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Hold(ctx, "index")
		if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), `holds the lock "index"`) {
			t.Fatalf("a second hold gave %v", err)
		}
		for _, free := range []func() (func(), error){
			func() (func(), error) { return b.Hold(ctx, "something else") },
			func() (func(), error) { return stranger.Hold(ctx, "index") },
		} {
			if _, err := free(); err != nil {
				t.Fatal(err)
			}
		}
		release()
		if _, err = b.Hold(ctx, "index"); err != nil {
			t.Fatal(err)
		}
		if err := b.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err = a.Hold(ctx, "index"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("transactions that wait for one another in a ring all come to their end", func(t *testing.T) {
		t.Parallel()
		address := schemas.take(t)
		a, b := second(t, address), second(t, address)
		var both, running sync.WaitGroup
		both.Add(2)
		faults := make([]error, 2)
		for i, c := range []*catalog.Catalog{a, b} {
			running.Go(func() {
				var once sync.Once
				ids := []string{"ring-1", "ring-2"}
				if i == 1 {
					slices.Reverse(ids)
				}
				faults[i] = c.Transact(ctx, func(stored int) {
					once.Do(func() { // in the first run, each transaction stores the row that the other needs next
						both.Done()
						both.Wait()
					})
				}, ids...)
			})
		}
		running.Wait()
		// One transaction stored both rows. The other transaction was retried and failed because the rows already
		// exist.
		if (faults[0] == nil) == (faults[1] == nil) {
			t.Fatal(faults)
		}
		for _, err := range faults {
			if err != nil && !strings.Contains(err.Error(), "duplicate key") {
				t.Fatal(err)
			}
		}
	})
}

func within(t testing.TB, woken <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-woken:
	case <-time.After(30 * time.Second):
		t.Fatalf("nothing was told of %s", what)
	}
}

// newDatasource creates a workspace, a datastore and a datasource.
func newDatasource(t testing.TB, c *catalog.Catalog) domain.Datasource {
	t.Helper()
	ctx := context.Background()
	if err := c.EnsureWorkspace(ctx, "ws", "test"); err != nil {
		t.Fatal(err)
	}
	store, err := c.CreateDatastore(ctx, domain.Datastore{ID: domain.NewID(), WorkspaceID: "ws", Type: domain.EngineMilvus, EmbeddingModel: "m"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.CreateDatasources(ctx, []catalog.NewDatasource{{
		Datasource: domain.Datasource{ID: domain.NewID(), WorkspaceID: "ws", DatastoreID: store.ID, Type: domain.TypeText, Original: &domain.Original{Key: "o"}},
		Job:        domain.Job{ID: domain.NewID(), Kind: domain.JobIngest},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestServerThatDies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server, err := engines.StartPostgreSQL(ctx, filepath.Join(t.TempDir(), "postgresql"), engines.PostgreSQLOptions{Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	a, b := second(t, server.URL()), second(t, server.URL())
	<-b.SweepWake() // the signal sent on opening
	d := newDatasource(t, a)
	if _, err := a.Hold(ctx, "index"); err != nil {
		t.Fatal(err)
	}
	if err := a.Ready(ctx); err != nil {
		t.Fatal(err)
	}

	err = a.Transact(ctx, func(stored int) {
		if stored == 1 {
			if err := server.Kill(); err != nil {
				t.Error(err)
			}
		}
	}, "half", "done")
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("a transaction cut short gave %v", err)
	}
	if err := a.Ready(ctx); err == nil {
		t.Fatal("the catalog is ready without its server")
	}
	if _, err := a.Datasource(ctx, "ws", d.ID); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("reading without a server gave %v", err)
	}

	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	// The process isn't ready until it has reacquired the hold, which takes seconds.
	deadline, poll := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer poll.Stop()
	for err := a.Ready(ctx); err != nil; err = a.Ready(ctx) {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
	if _, err := b.Hold(ctx, "index"); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("the hold was not taken again: %v", err)
	}
	if _, err := a.Datasource(ctx, "ws", d.ID); err != nil {
		t.Fatal(err)
	}
	err = a.Transact(ctx, func(int) {}, "half", "done") // fails with a conflict if either is already stored
	if err != nil {
		t.Fatal(err)
	}
	within(t, b.SweepWake(), "listening again: there may be work that was not told of")
	if _, err := a.DeleteDatasource(ctx, "ws", d.ID); err != nil {
		t.Fatal(err)
	}
	within(t, b.SweepWake(), "sweeps")
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := engines.PostgreSQLForTest(t)
	ascii := "catalog_" + strings.ToLower(rand.Text()) // random, because tests may share the server
	if err := sqlExec(server, `CREATE DATABASE `+ascii+` TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sqlExec(server, `DROP DATABASE `+ascii+` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	const secret = "hush-hush"
	for sentence, test := range map[string]struct {
		address string
		want    string
	}{
		"a password that is wrong": {
			with(t, server, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), secret) }), "rejects user",
		},
		"a database that does not exist": {with(t, server, func(u *url.URL) { u.Path = "/nowhere" }), `no database "nowhere"`},
		"a schema that does not exist": {
			with(t, server, func(u *url.URL) { u.RawQuery += "&search_path=nowhere" }), "none of the schemas in this user's search_path exists",
		},
		"an encoding that holds no text":   {with(t, server, func(u *url.URL) { u.Path = "/" + ascii }), "SQL_ASCII"},
		"a server that is not there":       {"postgres://u:" + secret + "@127.0.0.1:1/d?sslmode=disable", "PostgreSQL at postgres://u@127.0.0.1:1/d (DATABASE_URL) cannot be reached"},
		"an address that cannot be read":   {"postgres://u:" + secret + "@[::1/d", "form postgres://"},
		"an address of something else":     {"mysql://u:" + secret + "@h/d", "form postgres://"},
		"a setting that cannot be read":    {"postgres://u:" + secret + "@h/d?sslmode=" + secret, "form postgres://"},
		"an address without the URL form":  {"host=127.0.0.1 port=1 user=u password=" + secret + " dbname=d sslmode=disable", "cannot be reached"},
		"what is neither of the two forms": {secret, "form postgres://"},
	} {
		t.Run(sentence+" is said in words, without the password", func(t *testing.T) {
			t.Parallel()
			c, err := catalog.Open(ctx, catalog.Options{URL: test.address})
			if err == nil {
				t.Fatal("it was opened", c.Close())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error does not say %q: %v", test.want, err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
	t.Run("a server that accepts connections and says nothing is reported in the log while it is awaited", func(t *testing.T) {
		t.Parallel()
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { silent.Close() })
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		reported := logFunc(func(line string) {
			if strings.Contains(line, "waiting for PostgreSQL") && strings.Contains(line, silent.Addr().String()) {
				cancel()
			}
		})
		c, err := catalog.Open(ctx, catalog.Options{
			URL: "postgres://u:" + secret + "@" + silent.Addr().String() + "/d", StartTimeout: time.Hour, Log: slog.New(slog.NewTextHandler(reported, nil)),
		})
		if err == nil {
			t.Fatal("it was opened", c.Close())
		}
		if ctx.Err() == nil {
			t.Errorf("the call ended before the log said that it waits: %v", err)
		}
	})
	t.Run("a path and a URL are one too many", func(t *testing.T) {
		t.Parallel()
		if c, err := catalog.Open(ctx, catalog.Options{URL: server, Path: "p"}); err == nil {
			t.Fatal("both were opened", c.Close())
		}
	})
}

// logFunc receives log lines as an io.Writer.
type logFunc func(line string)

func (f logFunc) Write(p []byte) (int, error) { f(string(p)); return len(p), nil }
