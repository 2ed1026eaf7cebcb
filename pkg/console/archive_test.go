package console_test

import (
	"archive/zip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// writeZip writes an archive that contains a file for each of the names. Every file contains a short text, except for
// empty.txt, which is empty.
func writeZip(t *testing.T, path string, names ...string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "empty.txt" {
			continue
		}
		if _, err := fmt.Fprintf(w, "The text of %s.", name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAnArchiveIsShownWithItsFiles uploads an archive, opens it, lists its files and replaces it.
func TestAnArchiveIsShownWithItsFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	var store struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Archives"}, &store)
	path := filepath.Join(t.TempDir(), "all.zip")
	writeZip(t, path, "docs/a.txt", "b.txt", "empty.txt")
	c := open(s)
	c.signIn()
	c.at("#/datastores/" + store.ID)
	c.waitVisible(".drop")
	c.chooseFiles([]string{path})
	for _, part := range []string{"2 of 2 files", "ZIP archive"} {
		c.until(`[...document.querySelectorAll('.source')].some((row) => row.innerText.includes('all.zip') && row.innerText.includes('` + part + `'))`)
	}
	c.click(`.source a[title="all.zip"]`)
	c.until(`document.querySelector('main').innerText.includes('Files in the archive')`)
	c.until(`document.querySelector('main').innerText.includes('1 file was left out: empty (empty.txt)')`)
	c.click(`main section a[href*="?site="]`)
	c.until(`document.querySelectorAll('.source').length === 2`)
	c.until(`!!document.querySelector('.source a[title="docs/a.txt"]')`)

	writeZip(t, path, "docs/a.txt", "new.txt")
	c.at("#/datastores/" + store.ID)
	c.click(`.source a[title="all.zip"]`)
	c.until(`!!document.querySelector('input[type=file][aria-label="New version"]')`)
	c.chooseFiles([]string{path})
	c.at("#/datastores/" + store.ID + "?search=new.txt")
	c.until(`!!document.querySelector('.source a[title="new.txt"]')`)
}
