package engines

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Environment of tests. The first three give the address of a server that runs already; such a server may be shared
// with others and is never stopped. The fourth gives the path of a Chromium. The last two are set by `local exec`
// around a test run: the Unix socket at which all test binaries ask for the same engines, and that a missing Chromium
// is a failure.
const (
	EnvPostgreSQL = "TEST_POSTGRES_URL"
	EnvMilvus     = "TEST_MILVUS_ADDR"
	EnvMilvusLite = "TEST_MILVUS_LITE_ADDR"
	EnvChromium   = "TEST_CHROMIUM"
	EnvBroker     = "TEST_ENGINES"

	EnvRequireChromium = "TEST_REQUIRE_CHROMIUM"
)

// PostgreSQLForTest returns the URL of an empty database of its own on a shared server; it is dropped when the test
// ends. If no server can be had, the test fails.
func PostgreSQLForTest(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := find(ctx, t, EnvPostgreSQL, askPostgreSQL, (*Set).postgresqlURL)
	name := "test_" + strings.ToLower(rand.Text())
	database, err := createDatabase(ctx, server, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := dropDatabase(ctx, server, name); err != nil {
			t.Error(err)
		}
	})
	return database
}

// MilvusForTest returns the address of a Milvus 2.3 that other tests use at the same time: name what you make so that
// nobody else has the name, and drop it in the end. If no server can be had, the test fails.
func MilvusForTest(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return find(ctx, t, EnvMilvus, askMilvus, (*Set).milvusAddr)
}

// MilvusLiteForTest is MilvusForTest for Milvus Lite.
func MilvusLiteForTest(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return find(ctx, t, EnvMilvusLite, askMilvusLite, (*Set).milvusLiteAddr)
}

// ChromiumForTest returns the path of a Chromium. If there is none, the test is skipped, unless the environment
// requires it: then one is installed where that can be done, and else the test fails.
func ChromiumForTest(t testing.TB) string {
	t.Helper()
	if os.Getenv(EnvRequireChromium) == "" && os.Getenv(EnvChromium) == "" {
		path := findChromium()
		if path == "" {
			t.Skipf("there is no Chromium in PATH; %s=1 has the test get one", EnvRequireChromium)
		}
		return path
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return find(ctx, t, EnvChromium, askChromium, (*Set).chromiumPath)
}

// own is the set of this process, for tests that no broker serves. It is made when it is first needed.
var own struct {
	sync.Mutex
	set *Set
}

// find returns the address of an engine: of the server that the environment names, of the one that all test binaries
// of this run share, or of this process's own.
func find(ctx context.Context, t testing.TB, variable, name string, start func(*Set) (string, error)) string {
	t.Helper()
	if addr := os.Getenv(variable); addr != "" {
		return addr
	}
	address := func() (string, error) {
		if socket := os.Getenv(EnvBroker); socket != "" {
			return askBroker(ctx, socket, name)
		}
		own.Lock()
		defer own.Unlock()
		if own.set == nil {
			set, err := NewSet(context.Background()) // for all tests of this process, not for this one
			if err != nil {
				return "", err
			}
			own.set = set
		}
		return start(own.set)
	}
	addr, err := address()
	if err != nil {
		t.Fatalf("no %s for this test: %v\nto use a server that runs already, set %s", name, err, variable)
	}
	return addr
}

// Tests is what testing.M has.
type Tests interface{ Run() int }

// Stopping returns tests that stop, when all have run, the engines that they started in this process. A TestMain
// runs it instead of m:
//
//	func TestMain(m *testing.M) {
//		engines.RunChildIfAsked()
//		goleak.VerifyTestMain(engines.Stopping(m)) // or os.Exit(engines.Stopping(m).Run())
//	}
//
// Without it they are stopped by their guards when the process has ended.
func Stopping(m Tests) Tests { return stopping{m} }

type stopping struct{ tests Tests }

func (s stopping) Run() int {
	code := s.tests.Run()
	own.Lock()
	defer own.Unlock()
	if own.set == nil {
		return code
	}
	if err := own.set.Stop(); err != nil {
		_, _ = os.Stderr.WriteString("stopping the engines of the tests: " + err.Error() + "\n")
		return max(code, 1)
	}
	own.set = nil
	return code
}
