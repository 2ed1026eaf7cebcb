package embedded

import (
	"log/slog"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
	"github.com/sluice/sluice/pkg/index/indextest"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	var err error
	if benchDir, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(benchDir)
		os.Exit(code)
	}))
}

// Names and formats of a space's files. They must not change, because existing indexes rely on them.
const (
	databaseFile = "space.db"
	vectorFile   = "vectors.f32"
	locationFile = "places.slots"
	identityFile = "space.json"

	formatNow, formatRows, formatSigns = 3, 2, 1

	codesFromSlots, exactUpTo = 16_384, 20_000 // see package vector
)

// reported makes cmp.Diff ignore a result's unexported fields, which point to buffers.
var reported = cmpopts.IgnoreUnexported(index.Result{})

// benchDir is the directory for the benchmarks' indexes, which are kept until the process exits.
var benchDir string

// mustOpen opens an index and closes it when the test ends.
func mustOpen(t testing.TB, dir string, opts Options) *Index {
	t.Helper()
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(testWriter{t}, nil))
	}
	if *everywhereIVF && opts.sizes == (vector.Thresholds{}) && opts.idleTime == 0 {
		opts.sizes = smallSizes
	}
	x, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return x
}

// testWriter fails the test on any log output, because the index logs only errors.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Errorf("logged: %s", p)
	return len(p), nil
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, Options{})
}

func conform(t *testing.T, opts Options) {
	t.Helper()
	indextest.Run(t, func(t *testing.T) index.Index { return mustOpen(t, t.TempDir(), opts) }, indextest.Options{
		Reopen: func(t *testing.T, x index.Index) index.Index {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			return mustOpen(t, x.(*Index).dir, opts)
		},
	})
}
