package seal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSealingKeyIsWrittenAtomically(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "secret-key")
	// Simulate an earlier start that was interrupted before it renamed the key file.
	if err := os.WriteFile(path+".new", []byte("half of a k"), 0o644); err != nil {
		t.Fatal(err)
	}
	key, err := KeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := KeyFile(path); err != nil || again != key {
		t.Errorf("the second start has another key, or %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "secret-key" {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
}

func TestADamagedSealingKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "short", strings.Repeat("\x00\xfe", 40), strings.Repeat("key ", 20)} {
		path := filepath.Join(t.TempDir(), "secret-key")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := KeyFile(path); err == nil || !strings.Contains(err.Error(), "remove it") || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: got %v", content, err)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != content {
			t.Errorf("%q became %q, %v", content, kept, err)
		}
	}
}

func TestASealingKeyThatIsADirectoryIsNamed(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if _, err := KeyFile(path); err == nil || !strings.Contains(err.Error(), "remove it") || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
