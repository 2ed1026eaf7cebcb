package bench

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestAFlagIsReadFromTheEnvironmentUnlessItIsGiven(t *testing.T) {
	t.Setenv("BENCH_TEST_LIST", "a, b")
	t.Setenv("BENCH_TEST_FOLDER", "folder")
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "a b folder"}, {[]string{"-list", "b", "-folder", "x"}, "b x"}} {
		var list []string
		var folder string
		flags := NewFlags("bench", io.Discard)
		flags.List(&list, "list", "BENCH_TEST_LIST", "", "items", "a", "b")
		flags.Path(&folder, "folder", "BENCH_TEST_FOLDER", "", "a folder")
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(append(list, filepath.Base(folder)), " "); got != c.want || !filepath.IsAbs(folder) {
			t.Errorf("%q: %s in %s, want %s", c.args, got, folder, c.want)
		}
	}
	for _, args := range [][]string{{"-list", "c"}, {"more"}} {
		flags := NewFlags("bench", io.Discard)
		flags.List(new([]string), "list", "", "", "items", "a")
		if err := flags.Parse(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func TestTablesAlignTheirFigures(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	Header(&b, 1, "name", "n", "share")
	if got, want := b.String(), "| name | n | share |\n|---|--:|--:|\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got := []string{Figure("%.1f", Share(1, 2)), Figure("%.1f", Share(1, 0)), Figure("%+.1f", -0.5)}
	if want := []string{"0.5", "–", "−0.5"}; !slices.Equal(got, want) {
		t.Errorf("figures are %q, want %q", got, want)
	}
	if got := Median([]float64{3, 1, 2, 4}); got != 2.5 || Median(nil) != 0 || Mean(nil) != 0 || math.IsNaN(Mean([]float64{1})) {
		t.Errorf("the median is %v, want 2.5", got)
	}
}

func TestAProcessIsMeasured(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	used := 0
	for start := range 1 << 27 { // at least a few hundredths of a second
		used ^= start
	}
	took, err := ProcessorTime(os.Getpid())
	if err != nil || took <= 0 {
		t.Errorf("used %v of processor time (%d): %v", took, used, err)
	}
	own, err := Memory(os.Getpid(), OwnMemory)
	if err != nil || own <= 0 {
		t.Errorf("has %d bytes: %v", own, err)
	}
	peak, err := Memory(os.Getpid(), PeakMemory)
	if err != nil || peak < own {
		t.Errorf("had %d bytes at its highest, and has %d: %v", peak, own, err)
	}
}
