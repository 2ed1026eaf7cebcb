package bench

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFiguresAreReplacedBetweenTheirMarks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n<!-- figures of make one -->\nfirst\n<!-- end of figures -->\n" +
		"between\n<!-- figures of make two -->\nold\n<!-- end of figures -->\nafter\n")
	if err := Replace(path, "two", "new"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n<!-- figures of make one -->\nfirst\n<!-- end of figures -->\n" +
		"between\n<!-- figures of make two -->\n\nnew\n<!-- end of figures -->\nafter\n"
	if string(got) != want {
		t.Errorf("the file is now %q", got)
	}
	for name, text := range map[string]string{"no marks": "nothing", "no end": "<!-- figures of make two -->\n"} {
		write(text)
		if err := Replace(path, "two", "new"); err == nil {
			t.Errorf("a file with %s is taken", name)
		}
	}
}
