//go:build linux

package extract_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
)

func TestChildrenHaveMinimalRights(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	secret := filepath.Join(folder, "secret")
	if err := os.WriteFile(secret, []byte("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tests := map[string]struct {
		what string
		want string
	}{
		"it cannot read a file":                {"read " + secret, "refused: "},
		"it cannot read the list of accounts":  {"read /etc/passwd", "refused: "},
		"it cannot write a file":               {"write " + filepath.Join(folder, "trace"), "refused: "},
		"it cannot connect":                    {"dial " + l.Addr().String(), "refused: "},
		"it cannot listen":                     {"listen", "refused: "},
		"it cannot run a program":              {"run", "refused: "},
		"it cannot send a signal to another":   {"signal", "refused: "},
		"it can keep files in its own folder":  {"keep", "done"},
		"what is done in these tests can fail": {"unknown", "done"},
	}
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 2})
	extract.RequireRestrictions(t, x)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := extract.AskChild(t, x, tt.what)
			if err != nil || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s: %q, error %v; want %q", tt.what, got, err, tt.want)
			}
		})
	}
}
