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

// Environment variables for tests. The first three are addresses of running servers, which may have other users and are
// never stopped. The fourth is the path to a Chromium binary. `local exec` sets the last two for a test run: EnvBroker
// is the Unix socket from which all test binaries get the same engines, and EnvRequireChromium makes a missing Chromium
// a failure.
const (
	EnvPostgreSQL = "TEST_POSTGRES_URL"
	EnvMilvus     = "TEST_MILVUS_ADDR"
	EnvMilvusLite = "TEST_MILVUS_LITE_ADDR"
	EnvChromium   = "TEST_CHROMIUM"
	EnvBroker     = "TEST_ENGINES"

	EnvRequireChromium = "TEST_REQUIRE_CHROMIUM"
)

// PostgreSQLForTest returns the URL of a new, empty database on a shared server, which is dropped when the test ends.
// If there is no server, the test fails.
func PostgreSQLForTest(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineStartTimeout)
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

// MilvusForTest returns the address of a Milvus 2.3. Other tests use it at the same time, so give collections unique
// names and drop them at the end. If there is no server, the test fails.
func MilvusForTest(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineStartTimeout)
	defer cancel()
	return find(ctx, t, EnvMilvus, askMilvus, (*Set).milvusAddr)
}

// MilvusLiteForTest is like MilvusForTest, for Milvus Lite.
func MilvusLiteForTest(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), engineStartTimeout)
	defer cancel()
	return find(ctx, t, EnvMilvusLite, askMilvusLite, (*Set).milvusLiteAddr)
}

// ChromiumForTest returns the path to a Chromium binary. If there is none, it skips the test, unless the environment
// requires Chromium: then it installs Chromium and fails the test if that is impossible.
func ChromiumForTest(t testing.TB) string {
	t.Helper()
	if os.Getenv(EnvRequireChromium) == "" && os.Getenv(EnvChromium) == "" {
		path := findChromium()
		if path == "" {
			t.Skipf("there is no Chromium in PATH; %s=1 has the test get one", EnvRequireChromium)
		}
		return path
	}
	ctx, cancel := context.WithTimeout(context.Background(), engineStartTimeout)
	defer cancel()
	return find(ctx, t, EnvChromium, askChromium, (*Set).chromiumPath)
}

// localSet holds this process's own set of engines, for tests without a broker. The set is created on first use.
var localSet struct {
	sync.Mutex
	set *Set
}

// find returns the address of an engine's server. It is the server named in the environment or, if there is none, the
// one that all test binaries in this run share. If there is no shared server either, this process starts one.
func find(ctx context.Context, t testing.TB, variable, name string, start func(*Set) (string, error)) string {
	t.Helper()
	if addr := os.Getenv(variable); addr != "" {
		return addr
	}
	address := func() (string, error) {
		if socket := os.Getenv(EnvBroker); socket != "" {
			return askBroker(ctx, socket, name)
		}
		localSet.Lock()
		defer localSet.Unlock()
		if localSet.set == nil {
			set, err := NewSet(context.Background()) // shared by all tests in this process
			if err != nil {
				return "", err
			}
			localSet.set = set
		}
		return start(localSet.set)
	}
	addr, err := address()
	if err != nil {
		t.Fatalf("no %s for this test: %v\nto use a server that runs already, set %s", name, err, variable)
	}
	return addr
}

// Tests is the part of testing.M that Stopping needs.
type Tests interface{ Run() int }

// Stopping wraps m so that the engines started in this process are stopped after all tests. TestMain runs it instead of
// m:
//
//	func TestMain(m *testing.M) {
//		engines.RunChildIfAsked()
//		goleak.VerifyTestMain(engines.Stopping(m)) // or os.Exit(engines.Stopping(m).Run())
//	}
//
// Without Stopping, the guard processes stop the engines after the test process has exited.
func Stopping(m Tests) Tests { return stoppingTests{m} }

type stoppingTests struct{ tests Tests }

func (s stoppingTests) Run() int {
	code := s.tests.Run()
	localSet.Lock()
	defer localSet.Unlock()
	if localSet.set == nil {
		return code
	}
	if err := localSet.set.Stop(); err != nil {
		_, _ = os.Stderr.WriteString("stopping the engines of the tests: " + err.Error() + "\n")
		return max(code, 1)
	}
	localSet.set = nil
	return code
}
