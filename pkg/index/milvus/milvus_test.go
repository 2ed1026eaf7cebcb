package milvus

import (
	"context"
	"flag"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
	"github.com/sluice/sluice/pkg/index/indextest"
	"github.com/sluice/sluice/tools/local/engines"
)

func TestMain(m *testing.M) {
	engines.RunChildIfAsked()
	flag.Parse()
	// Tests spend more time waiting for servers than using the CPU.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(engines.Stopping(m))
}

// servers lists the kinds of servers that all behaviour tests run on.
var servers = map[string]func(testing.TB) string{"standalone": engines.MilvusForTest, "lite": engines.MilvusLiteForTest}

// onEveryServer runs a test on each kind of server.
func onEveryServer(t *testing.T, f func(t *testing.T, addr string)) {
	for name, addr := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, addr(t))
		})
	}
}

// testPrefix returns a unique prefix for a test's collections, which are dropped when the test and its subtests finish.
func testPrefix(t testing.TB, addr string) string {
	prefix := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		x := mustOpen(t, Options{Address: addr, Prefix: prefix})
		names, err := x.listCollections(ctx)
		if err != nil {
			t.Errorf("listing what the test has made: %v", err)
		}
		for _, name := range names {
			if err := x.call(ctx, "dropping", func(ctx context.Context, srv *server) error { return srv.DropCollection(ctx, name) }); err != nil {
				t.Error(err)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return prefix
}

// mustOpen opens an index. The test may close it more than once.
func mustOpen(t testing.TB, opts Options) *Index {
	t.Helper()
	opts.Partitions = 4
	opts.Log = slog.New(slog.DiscardHandler)
	x, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// openForTest opens an index and closes it when the test ends.
func openForTest(t testing.TB, addr, prefix string) *Index {
	t.Helper()
	x := mustOpen(t, Options{Address: addr, Prefix: prefix})
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return x
}

func TestConformance(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		prefix := testPrefix(t, addr)
		probe := openForTest(t, addr, prefix)
		info, err := probe.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		indextest.Run(t, func(t *testing.T) index.Index { return openForTest(t, addr, prefix) }, indextest.Options{
			DenseOnly: !info.LexicalSearch, Piecemeal: true, Rows: 600, Selective: 5000, // BenchmarkFilters checks many more rows
			Reference: func(t *testing.T) index.Index {
				e, err := embedded.Open(t.TempDir(), embedded.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := e.Close(); err != nil {
						t.Errorf("closing the reference: %v", err)
					}
				})
				return e
			},
			Reopen: func(t *testing.T, x index.Index) index.Index {
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				return openForTest(t, addr, prefix)
			},
		})
	})
}
