package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMissingSymbolsOfASystemAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module github.com/sluice/sluice/thing\n\ngo 1.26\n",
		"main.go":       "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(where()) }\n",
		"main_linux.go": "package main\n\nimport \"syscall\"\n\nfunc where() int { return syscall.Getuid() + int(syscall.SIGUSR1) }\n",
		"main_other.go": "//go:build !linux && !windows\n\npackage main\n\nfunc where() int { return 0 }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSources()
	for system, want := range map[string]string{
		"linux/arm64": "", "darwin/arm64": "", "windows/amd64": "undefined: where", "windows": "GOOS/GOARCH",
	} {
		_, err := s.check(t.Context(), dir, system, ".")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", system, err, want)
		}
	}
}

func TestTheSystemsAreThoseOfReleases(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile("../../deployments/release/goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list := func(name string) []string {
		found := regexp.MustCompile(name + `: \[(.*)\]`).FindSubmatch(config)
		if found == nil {
			t.Fatalf("there is no %s", name)
		}
		return strings.Split(string(found[1]), ", ")
	}
	var want []string
	for _, goos := range list("goos") {
		for _, goarch := range list("goarch") {
			want = append(want, goos+"/"+goarch)
		}
	}
	if got := strings.Join(systems, " "); got != strings.Join(want, " ") {
		t.Errorf("checked are %s, releases are made for %s", got, strings.Join(want, " "))
	}
}
