package embedded

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// Environment variables for the test binary when it runs as a child process. The child writes to childEnv's directory
// until it is killed. childRound keeps each round's generations distinct.
const (
	childEnv   = "SLUICE_TEST_INDEX_CHILD"
	childRound = "SLUICE_TEST_INDEX_ROUND"
	childIVF   = "SLUICE_TEST_INDEX_CELLS" // if set, the child builds an IVF from just a few rows
)

const (
	crashDimensions = 16
	crashBatch      = 20
	crashSources    = 6
)

var crashSpace = index.Space{DatastoreID: "crash", Model: "m", Dimensions: crashDimensions}

// crashRow builds a row from its datasource, generation and ordinal alone, so a row's key is enough to check its
// content.
func crashRow(source string, generation uint64, ordinal int) index.Row {
	key := domain.ChunkKey(source, generation, ordinal)
	rng := rand.New(rand.NewPCG(generation, uint64(ordinal)<<8|uint64(source[0])))
	v := make([]float32, crashDimensions)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	n := float32(math.Sqrt(float64(quant.Dot(v, v))))
	for i := range v {
		v[i] /= n
	}
	return index.Row{
		Key: key, DatasourceID: source, Generation: generation, Ordinal: ordinal, Vector: v,
		Text: fmt.Sprintf("common words and %s", crashWord(source, generation, ordinal)),
	}
}

// crashWord returns a word that occurs only in the given row.
func crashWord(source string, generation uint64, ordinal int) string {
	return fmt.Sprintf("w%sx%dx%d", source, generation, ordinal)
}

// runChild is the main function of the writer process that the test kills. It writes generations, deletes old ones and
// prints each operation once it is acknowledged. In any other process, it returns false right away.
func runChild() bool {
	dir := os.Getenv(childEnv)
	if dir == "" {
		return false
	}
	round, err := strconv.ParseUint(os.Getenv(childRound), 10, 64)
	if err != nil {
		panic(err)
	}
	opts := Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if os.Getenv(childIVF) != "" {
		opts.sizes = smallSizes
	}
	if round%2 == 1 { // also kill merges that run when there are no writes
		opts.idleTime = time.Millisecond
	}
	x, err := Open(dir, opts)
	if err != nil {
		panic(err)
	}
	for g := round * 1_000_000; ; g++ {
		source := string(rune('a' + g%crashSources))
		var rows []index.Row
		for i := range crashBatch {
			rows = append(rows, crashRow(source, g, i))
		}
		if err := x.Write(context.Background(), crashSpace, rows); err != nil {
			panic(err)
		}
		fmt.Println("written", source, g)
		if err := x.DeleteGenerations(context.Background(), crashSpace, index.Generations{DatasourceID: source, Below: g}); err != nil {
			panic(err)
		}
		fmt.Println("deleted", source, g)
	}
}

// acknowledged holds what the children reported for each datasource: the last generation written, and the generation
// below which all rows were deleted.
type acknowledged struct {
	written, deleted map[string]uint64
	sizes            vector.Thresholds // the index's thresholds
}

// crash runs a writer and kills it at a random moment, soon after its first few acknowledgements. `round` seeds the
// random choices.
func (a *acknowledged) crash(t *testing.T, dir string, round int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, childRound+"="+strconv.Itoa(round))
	if a.sizes != (vector.Thresholds{}) {
		cmd.Env = append(cmd.Env, childIVF+"=1")
	}
	var faults strings.Builder
	cmd.Stderr = &faults
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(round), 1))
	acks := rng.IntN(24)
	var timer *time.Timer
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		var what, source string
		var generation uint64
		if _, err := fmt.Sscan(lines.Text(), &what, &source, &generation); err != nil {
			continue // cut off by the kill
		}
		if what == "written" {
			a.written[source] = generation
		} else {
			a.deleted[source] = generation
		}
		if n == acks {
			// Kill the writer in the middle of a later write, while this loop keeps reading acknowledgements.
			timer = time.AfterFunc(time.Duration(rng.IntN(4000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		}
	}
	if timer != nil {
		timer.Stop()
	}
	_ = cmd.Wait() // killed, so always an error
	if faults.Len() > 0 {
		t.Fatalf("round %d: the writer failed by itself: %s", round, faults.String())
	}
}

// check opens the index after the crash and checks that it contains every acknowledged row exactly once, with the
// correct content.
func (a *acknowledged) check(t *testing.T, dir string, round int) {
	t.Helper()
	x := mustOpen(t, dir, Options{sizes: a.sizes})
	defer func() { _ = x.Close() }()
	stored := make(map[string][]index.Stored)
	if err := x.Stored(t.Context(), crashSpace, func(s index.Stored) error {
		stored[s.DatasourceID] = append(stored[s.DatasourceID], s)
		return nil
	}); err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	total := 0
	for source, list := range stored {
		for _, s := range list {
			if s.Rows != crashBatch {
				t.Fatalf("round %d: %d of %d rows of %s:%d", round, s.Rows, crashBatch, source, s.Generation)
			}
			if s.Generation < a.deleted[source] {
				t.Fatalf("round %d: deleted generation %s:%d is there", round, source, s.Generation)
			}
			total += crashBatch
			checkGeneration(t, x, source, s.Generation)
		}
		if g := a.written[source]; !slices.ContainsFunc(list, func(s index.Stored) bool { return s.Generation >= g }) {
			t.Fatalf("round %d: acknowledged generation %s:%d is gone", round, source, g)
		}
	}
	for source := range a.written {
		if stored[source] == nil {
			t.Fatalf("round %d: all rows of %s are gone", round, source)
		}
	}
	if total == 0 {
		return
	}
	r, err := x.Search(t.Context(), crashSpace, index.Query{Text: "common words", Vector: crashRow("a", 1, 1).Vector, Limit: 10_000})
	if err != nil || len(r.Hits) != total {
		t.Fatalf("round %d: %d hits of %d rows: %v", round, len(r.Hits), total, err)
	}
}

// checkGeneration compares a generation's rows with what was written, and finds one of them by its unique word and by
// its vector.
func checkGeneration(t *testing.T, x *Index, source string, generation uint64) {
	t.Helper()
	var want []index.Row
	for i := range crashBatch {
		want = append(want, crashRow(source, generation, i))
	}
	got, err := x.Rows(t.Context(), crashSpace, source, generation, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("rows of %s:%d (-want +got):\n%s", source, generation, diff)
	}
	i := int(generation) % crashBatch
	for _, q := range []index.Query{{Text: crashWord(source, generation, i), Limit: 1}, {Vector: want[i].Vector, Limit: 1}} {
		r, err := x.Search(t.Context(), crashSpace, q)
		if err != nil || len(r.Hits) != 1 || r.Hits[0].Key != want[i].Key {
			t.Fatalf("row %s is not found by %q: %+v, %v", want[i].Key, q.Text, r.Hits, err)
		}
	}
}

const crashRounds = 40

func TestAWriterKilledAtAnyMomentLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	for name, z := range map[string]vector.Thresholds{"of few rows": {}, "with cells": smallSizes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rounds := crashRounds
			if testing.Short() {
				rounds = 5
			}
			dir := t.TempDir()
			a := &acknowledged{written: make(map[string]uint64), deleted: make(map[string]uint64), sizes: z}
			for round := 1; round <= rounds; round++ {
				a.crash(t, dir, round)
				a.check(t, dir, round)
			}
		})
	}
}

// TestCloseWaitsForRunningCalls closes an index during merges and cancelled searches. SQLite removes its log when the
// last connection closes, so if the log is gone, every call has finished with the file.
func TestCloseWaitsForRunningCalls(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		dir := t.TempDir()
		x := mustOpen(t, dir, Options{})
		for g := range uint64(12) {
			if err := x.Write(t.Context(), crashSpace, []index.Row{crashRow(string(rune('a'+g)), g, 1)}); err != nil {
				t.Fatal(err)
			}
		}
		x.caches.Lists.Clear()
		ctx, cancel := context.WithCancel(t.Context())
		var searches sync.WaitGroup
		for range 4 {
			searches.Go(func() { _, _ = x.Search(ctx, crashSpace, index.Query{Text: "common words", Limit: 10}) })
		}
		cancel()
		searches.Wait()
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "crash", "*", "*-wal")); err != nil || len(left) > 0 {
			t.Fatalf("round %d: %v is left, %v", round, left, err)
		}
	}
}
