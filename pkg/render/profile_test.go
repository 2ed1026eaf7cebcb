package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheProfilePathIsShortEnoughForItsSocket(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), strings.Repeat("deep", 10))
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := makeProfile(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Remove()
	if filepath.Dir(p.Path()) != filepath.Clean(os.TempDir()) {
		t.Errorf("the profile was created at %s", p.Path())
	}
}
