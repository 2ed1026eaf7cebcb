package bench

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLastLineOfAScriptIsItsResult(t *testing.T) {
	t.Parallel()
	var told struct{ Name string }
	state, err := RunPython(t.Context(), "python3", []byte("import sys\nprint('noise')\nprint('{\"Name\": \"%s\"}' % sys.argv[1])\n"), []string{"one"}, &told)
	if err != nil || told.Name != "one" || state == nil {
		t.Errorf("the result is %+v, state %v: %v", told, state, err)
	}
}

func TestAScriptThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{"raise ValueError('no such store')": "no such store", "print('noise')": "reading its output"} {
		if _, err := RunPython(t.Context(), "python3", []byte(script), nil, &struct{}{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one about %q", script, err, want)
		}
	}
}

func TestAnEnvironmentIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "venv")
	if _, err := InstallPython(t.Context(), dir, []string{"./no-such-package"}, io.Discard); err == nil {
		t.Fatal("a package that is not there is installed")
	}
	var said strings.Builder
	for range 2 {
		if _, err := InstallPython(t.Context(), dir, []string{"pip"}, &said); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(said.String(), "installing"); n != 1 {
		t.Errorf("the packages were installed %d times: %s", n, said.String())
	}
}
