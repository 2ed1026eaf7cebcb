//go:build linux

package engines

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inPath sets PATH to a directory with only the given scripts. `scripts` maps names to contents.
func inPath(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestTheChromiumOfTheMachineIsTaken(t *testing.T) {
	dir := inPath(t, map[string]string{"chromium-browser": "", "apt-get": "exit 1"})
	path, err := chromiumProgram(context.Background())
	if err != nil || path != filepath.Join(dir, "chromium-browser") {
		t.Errorf("got %q, %v", path, err)
	}
}

func TestAMissingChromiumIsInstalledForRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root installs packages")
	}
	// There are no package lists at first, and cp and chmod are not in PATH.
	dir := inPath(t, map[string]string{"apt-get": `cd "${0%/*}"
case "$*" in
*update*) : > lists ;;
*"install --no-install-recommends chromium") [ -e lists ] || { echo no lists; exit 100; }; : > chromium; /bin/chmod 700 chromium ;;
*) exit 1 ;;
esac`})
	path, err := chromiumProgram(context.Background())
	if err != nil || path != filepath.Join(dir, "chromium") {
		t.Errorf("got %q, %v", path, err)
	}
}

func TestAMissingChromiumIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		scripts map[string]string
		want    string
	}{
		"a system without apt-get":        {want: EnvChromium},
		"a package that cannot be had":    {scripts: map[string]string{"apt-get": "echo no route to the archive; exit 100"}, want: "no route to the archive"},
		"a package that holds no program": {scripts: map[string]string{"apt-get": "exit 0"}, want: EnvChromium},
	} {
		t.Run(name, func(t *testing.T) {
			if len(test.scripts) > 0 && os.Geteuid() != 0 {
				t.Skip("only root installs packages")
			}
			inPath(t, test.scripts)
			if path, err := chromiumProgram(context.Background()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v, want an error with %q", path, err, test.want)
			}
		})
	}
}
