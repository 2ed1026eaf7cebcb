package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// importLines returns an import's documents and errors, one per line.
func importLines(f importFlags, text string) []string {
	docs, err := f.documents(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	var out []string
	for d, err := range docs {
		var bad *errUnusable
		switch {
		case errors.As(err, &bad):
			out = append(out, "unusable: "+bad.name)
		case err != nil:
			out = append(out, "error: "+err.Error())
		case d.text != nil:
			out = append(out, fmt.Sprintf("%s %s: %s %v", d.key, valueOf(d.text.Name), d.text.Text, d.text.Metadata.AdditionalProperties))
		default:
			out = append(out, fmt.Sprintf("%s %s", d.kind, d.name))
		}
	}
	return out
}

func TestAnImportIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags importFlags
		text  string
		want  []string
	}{
		"lines": {
			text: "\xef\xbb\xbf{\"id\":1,\"text\":\"One.\"}\n\n{\"custom_id\":\"b\",\"content\":\"Two.\",\"title\":\"Second\",\"metadata\":{\"team\":\"x\",\"none\":null}}\n",
			want: []string{"1 : One. map[]", "b Second: Two. map[team:x]"},
		},
		"an array": {
			text: `[{"_id":"a","pageContent":"One.","metadata":{"source":"a.md","title":"A"}}, {"_id":"b","page_content":"Two.","url":"https://example.com/"}]`,
			want: []string{"a A: One. map[source:a.md title:A]", "b : Two. map[source:https://example.com/]"},
		},
		"objects over several lines": {text: "{\n  \"id\": \"a\",\n  \"text\": \"One.\"\n}\n{\n  \"id\": \"b\", \"text\": \"Two.\"\n}", want: []string{"a : One. map[]", "b : Two. map[]"}},
		"an export of datastores": {
			text: `{"version":1,"datastores":[{"id":"s","name":"Store","datasources":[
				{"id":"d1","type":"text","name":"Note","config":{"custom_id":"c1","text":"One."}},
				{"id":"d2","type":"web_page","name":"Page","config":{"source_url":"https://example.com/page"}},
				{"id":"d3","type":"web_site","config":{"source_url":"https://example.com/"}},
				{"id":"d4","type":"file","name":"manual.pdf"}]}, {"id":"e","datasources":[]}], "agents":[{"id":"x"}]}`,
			want: []string{"c1 Note: One. map[]", "web_page https://example.com/page", "web_site https://example.com/", "unusable: document 4 (manual.pdf)"},
		},
		"NUL characters":       {text: `{"id":"a","text":"\u0000On\u0000e."}{"id":"b","text":"\u0000 "}`, want: []string{"a : One. map[]", "unusable: document 2 (b)"}},
		"a page of a list":     {text: `{"data":[{"id":"a","text":"One."}],"nextCursor":null}`, want: []string{"a : One. map[]"}},
		"data that is no list": {text: `{"id":"a","text":"One.","data":["x","y"]}{"id":"b","text":"Two.","items":{}}`, want: []string{"a : One. map[]", "b : Two. map[]"}},
		"fields of other names": {
			flags: importFlags{text: "body.plain", id: "slug", name: "head", source: "link", metadata: "tags"},
			text:  `{"slug":"a","head":"A","body":{"plain":"One."},"link":"here","tags":{"n":2},"text":"not this"}`,
			want:  []string{"a A: One. map[n:2 source:here]"},
		},
		"a field whose name has a dot": {flags: importFlags{text: "a.b"}, text: `{"id":"x","a.b":"One."}`, want: []string{"x : One. map[]"}},
		"no id":                        {text: `{"text":"One."}{"text":"One."}`, want: []string{"sha256:1b1528336248f6d9ba497522301716c7 : One. map[]", "sha256:1b1528336248f6d9ba497522301716c7 : One. map[]"}},
		"no text":                      {text: `{"id":"a","text":"  "}{"id":"b","text":"Two."}`, want: []string{"unusable: document 1 (a)", "b : Two. map[]"}},
		"metadata that is none":        {text: `{"id":"a","text":"One.","metadata":"x"}`, want: []string{"unusable: document 1 (a)"}},
		"a file that was cut":          {text: `{"id":"a","text":"One."}{"id":"b","te`, want: []string{"a : One. map[]", "error: document 2, at byte 34: the file ends in the middle of this document: check that it was copied completely"}},
		"an array that was cut":        {text: `[{"id":"a","text":"One."},`, want: []string{"a : One. map[]", "error: document 2, at byte 26: the file ends in the middle of this document: check that it was copied completely"}},
		"what is no JSON":              {text: `{"id":"a","text":"One."}{oops}`, want: []string{"a : One. map[]", "error: document 2, at byte 25: invalid JSON: invalid character 'o'"}},
		"a number":                     {text: `[1]`, want: []string{"error: document 1, at byte 2: is 1, but a document must be a JSON object"}},
		"lists without end":            {text: strings.Repeat("[", 100), want: []string{"error: document 1, at byte 5: has lists nested more than 4 levels deep"}},
		"addresses": {
			text: "# pages\nhttps://example.com/a\n\n  https://example.com/b#part # a remark\nexample.com\n",
			want: []string{"web_page https://example.com/a", "web_page https://example.com/b#part", "unusable: line 5"},
		},
		"sites":   {flags: importFlags{site: true}, text: "https://example.com/\n", want: []string{"web_site https://example.com/"}},
		"nothing": {text: " \n", want: []string{"error: the file is empty"}},
		"prose":   {text: "Once upon a time", want: []string{"error: the file has neither JSON objects nor web addresses: add other documents with sluice ingest"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := importLines(test.flags, test.text)
			for i, want := range test.want { // compare only how errors begin, because libraries may change their messages
				if i < len(got) && strings.HasPrefix(want, "error:") && strings.HasPrefix(got[i], want) {
					got[i] = want
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImportsDoNotDependOnReadSizes(t *testing.T) {
	t.Parallel()
	const text = `{"id": 1, "text": "one", "data": "a", "pages": 12, "items" : ["x"], "results": [ 1 ]}` + "\n" +
		`{"data": [ {"id": 2, "text": "two"} ], "pages": [], "items": [` + "\n" + `{"id": 3, "text": "three"}]}`
	want := []string{"1", "2", "3"}
	for name, r := range map[string]io.Reader{"at once": strings.NewReader(text), "letter by letter": iotest.OneByteReader(strings.NewReader(text))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for d, err := range readDocuments(r, defaultFields()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, d.key)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADocumentThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	got := importLines(importFlags{}, `{"id":"a","text":"One."}{"text":"`+strings.Repeat("x", 3*maxDocument)+`"}{"id":"b","text":"Two."}`)
	if len(got) != 2 || got[0] != "a : One. map[]" || !strings.Contains(got[1], "document 2") || !strings.Contains(got[1], "exceeds the service's limit of 10 MiB") {
		t.Errorf("%.500q", got)
	}
	many := strings.Repeat(`{"id":"a","text":"`+strings.Repeat("y", 1<<20)+`"}`, 25) // in total more than one document's limit
	if got := importLines(importFlags{}, "["+strings.TrimSuffix(strings.ReplaceAll(many, "}{", "},{"), ",")+"]"); len(got) != 25 || strings.HasPrefix(got[24], "error") {
		t.Errorf("of an array of 25 long documents %d were read; the last is %.100q", len(got), got[len(got)-1])
	}
}

// FuzzImport checks that reading any file terminates and yields only documents that are fit to be sent.
func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"text":"One."}`, `[{"text":"a","metadata":{"x":[1,2]}}]`, `{"datastores":[{"datasources":[{"text":"a"}]}]}`, "https://example.com/\n# x",
		`{"text":"\ud800","id":"` + strings.Repeat("é", 300) + `"}`, `{"data":[],"text":"x"}`, `[[[[{"a":1}]]]]`, "{\"text\":\"\xff\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := importFlags{}.documents(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return
		}
		n := 0
		for d, err := range docs {
			if n++; n > len(text)+1 {
				t.Fatal("more documents than bytes")
			}
			if err != nil {
				if d != nil {
					t.Error("an error with a document")
				}
				continue
			}
			if d.key == "" || d.name == "" && d.text == nil {
				t.Errorf("a document that nothing tells from others: %+v", d)
			}
			if d.text != nil && (!utf8.ValidString(d.text.Text) || strings.TrimSpace(d.text.Text) == "" || utf8.RuneCountInString(d.key) > maxCustomID ||
				!utf8.ValidString(d.key) || len(d.digest) != 64) {
				t.Errorf("%+v cannot be sent", d)
			}
		}
	})
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for pattern, test := range map[string]struct{ matches, others []string }{
		"*.md":          {[]string{"a.md", "é.md"}, []string{"a.txt", "x/a.md", "a.mdx"}},
		"docs/**/*.md":  {[]string{"docs/a.md", "docs/x/y/a.md"}, []string{"a.md", "other/a.md"}},
		"**":            {[]string{"a", "a/b/c"}, nil},
		"drafts/**":     {[]string{"drafts/a", "drafts/a/b"}, []string{"drafts", "a/drafts/b"}},
		"page-?[0-9].t": {[]string{"page-a1.t"}, []string{"page-1.t", "page-ab.t", "page-/1.t"}},
		"[!a]x":         {[]string{"bx"}, []string{"ax"}},
		"a[b":           {[]string{"a[b"}, []string{"ab"}},
		"a+(b).c":       {[]string{"a+(b).c"}, []string{"aab.c"}},
	} {
		re := globRegexp(pattern)
		for _, name := range test.matches {
			if !re.MatchString(name) {
				t.Errorf("%q does not match %q", pattern, name)
			}
		}
		for _, name := range test.others {
			if re.MatchString(name) {
				t.Errorf("%q matches %q", pattern, name)
			}
		}
	}
}

func TestMissingFilesAreRefusedFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, there := range map[string]bool{
		dir: true, filepath.Join(dir, "a.md"): true, filepath.Join(dir, "*.md"): true, filepath.Join(dir, "**", "a.*"): true, "https://example.com/b": true,
		filepath.Join(dir, "b.md"): false, filepath.Join(dir, "*.txt"): false, filepath.Join(dir, "none", "*"): false,
	} {
		err := sourceFlags{}.present([]string{arg})
		if there != (err == nil) || !there && ExitOf(err) != NotFound {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestPathsBecomeValidIDs(t *testing.T) {
	t.Parallel()
	if got := customID("docs/a.md"); got != "docs/a.md" {
		t.Errorf("an ordinary path becomes %q", got)
	}
	long := strings.Repeat("ordner/", 60) + "ende.md"
	seen := map[string]bool{}
	for _, path := range []string{long, "x" + long, "a\nb", "a_b", "a\x00b", "\xff"} {
		id := customID(path)
		if utf8.RuneCountInString(id) > maxCustomID || !utf8.ValidString(id) || strings.ContainsAny(id, "\n\x00") || seen[id] || id != customID(path) {
			t.Errorf("%q becomes %q", path, id)
		}
		seen[id] = true
	}
}

func TestFoldersContainTheirFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		root, key string
		want      bool
	}{
		{"docs", "docs/a.md", true}, {"docs/", "docs/x/a.md", true}, {"./docs", "docs/a.md", true}, {"docs", "docs2/a.md", false}, {"docs", "a.md", false},
		{".", "a.md", true}, {".", "../a.md", false}, {".", "/a.md", false}, {"/", "/a.md", true}, {"../x", "../x/a.md", true},
	} {
		if got := isInside(test.root, test.key); got != test.want {
			t.Errorf("%q in %q: %v", test.key, test.root, got)
		}
	}
}

func TestAFolderIsWalkedInOrderAndWithoutWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"b.md": "b", "a/c.md": "c", "a/skip.md": "s", "photo.JPG": "x", "old.zip": "x", "none.md": "", ".git/config": "g", "a/.hidden": "h"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	c := newChoice([]string{"**"}, []string{"skip.*"})
	var got, left []string
	for d, err := range folder(dir, c, nil, func(name, why string) { left = append(left, filepath.Base(name)+": "+why) }) {
		if err != nil {
			t.Fatal(err)
		}
		below, _ := filepath.Rel(dir, d.path)
		got = append(got, filepath.ToSlash(below))
	}
	if diff := cmp.Diff([]string{"a/c.md", "b.md"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"none.md: the file is empty", "old.zip: an archive: to add its files, name the archive itself or use the pattern **/*.zip", "photo.JPG: a picture: to read it as a scan, name the file itself or use the pattern **/*.jpg"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestAPatternAppliesOnlyToItsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.md", "all.zip", "photo.jpg", "x/b.md", "x/photo.png"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string][]string{
		"**/*.md": {"a.md", "x/b.md"}, "*.jpg": {"photo.jpg"}, "*.zip": {"all.zip"}, "x/*": {"x/b.md", "left out: x/photo.png"},
		"**/*.pdf": {"no file matches"},
	} {
		var got []string
		left := func(name, _ string) {
			below, _ := filepath.Rel(dir, name)
			got = append(got, "left out: "+filepath.ToSlash(below))
		}
		for d, err := range (sourceFlags{}).filesMatching(filepath.ToSlash(dir)+"/"+pattern, left) {
			if err != nil {
				got = append(got, strings.Join(strings.Fields(err.Error())[:3], " "))
				continue
			}
			below, _ := filepath.Rel(dir, d.path)
			got = append(got, filepath.ToSlash(below))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", pattern, diff)
		}
	}
}

func TestOnlyMissingFilesAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	docs, mount := filepath.ToSlash(filepath.Join(dir, "docs")), filepath.ToSlash(filepath.Join(dir, "mount"))
	if err := errors.Join(os.Mkdir(docs, 0o755), os.Mkdir(mount, 0o755), os.WriteFile(docs+"/left-out.pdf", []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	keys := []string{docs + "/gone.md", docs + "/left-out.pdf", docs + "/taken.md", mount + "/a.md"}
	seen := map[string]bool{docs + "/taken.md": true, "https://example.com/": true}

	lost, err := deletedKeys([]string{docs, dir}, keys[:3], seen)
	if diff := cmp.Diff([]string{docs + "/gone.md"}, lost); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	lost, err = deletedKeys([]string{docs, mount, "https://example.com/"}, keys, seen)
	if len(lost) > 0 || err == nil || !strings.Contains(err.Error(), mount) {
		t.Errorf("with a folder that is not mounted: %v, %v", lost, err)
	}
}

func TestAWatchedFolderThatIsNotMountedLosesNothing(t *testing.T) {
	t.Parallel()
	docs, mount := t.TempDir(), t.TempDir()
	write := func(path string) {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(docs, "a.md"))
	write(filepath.Join(docs, "b.md"))
	write(filepath.Join(mount, "c.md"))
	var out bytes.Buffer
	w := &watcher{s: &upload{show: &progressLines{out: &out}}, roots: []string{docs, mount}, known: map[string]fileState{}, emptyFolders: map[string]bool{}}
	look := func(sent, lost int) {
		t.Helper()
		c, err := w.scan()
		if err != nil || len(c.sent) != sent || len(c.deleted) != lost {
			t.Errorf("%d files to send and %v gone, %v; want %d and %d", len(c.sent), c.deleted, err, sent, lost)
		}
	}
	look(3, 0)
	if err := errors.Join(os.Remove(filepath.Join(mount, "c.md")), os.Remove(filepath.Join(docs, "a.md"))); err != nil {
		t.Fatal(err)
	}
	look(0, 1)
	look(0, 0)
	if told := strings.Count(out.String(), "check that it is mounted"); told != 1 {
		t.Errorf("the message appeared %d times: %s", told, &out)
	}
	write(filepath.Join(mount, "d.md"))
	look(1, 1)
}
