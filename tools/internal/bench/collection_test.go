package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/eval"
)

func TestANameThatTheServiceRefusesIsCut(t *testing.T) {
	t.Parallel()
	c := Collection{Documents: []eval.Document{{ID: "long", Title: strings.Repeat("ä", 622), Text: "x"}, {ID: "none", Text: "x"}, {ID: "title", Title: "T"}, {ID: "empty"}}}
	got := c.Uploads()
	if len(got) != 3 {
		t.Fatalf("%d documents are handed in, want those with a text or a title", len(got))
	}
	if n := utf8.RuneCountInString(got[0].Name); n != 500 {
		t.Errorf("a title of 622 characters became a name of %d", n)
	}
	if got[1].Name != "none" || got[2].Text != "T" {
		t.Errorf("documents without a title or a text became %+v", got[1:])
	}
}

func TestCollectionsComeSmallestFirst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"b/corpus.jsonl": `{"_id":"1","text":"a text"}`, "b/queries.jsonl": "{\"_id\":\"q\",\"text\":\"?\"}\n{\"_id\":\"r\",\"text\":\"??\"}", "b/qrels.tsv": "q\t1\t1\n",
		"a/corpus.jsonl": `{"_id":"1","text":"a longer text"}`, "a/qrels.tsv": "",
		"other/corpus.jsonl": "",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Collections(folder, nil)
	if diff := cmp.Diff([]string{"b", "a"}, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	if _, err := Collections(folder, []string{"other"}); err == nil {
		t.Error("a folder without judgements is taken for a collection")
	}
	c, err := LoadCollection(folder, "b")
	if err != nil || len(c.Questions) != 1 || c.Questions[0].ID != "q" {
		t.Errorf("%v: questions are %v, want the judged one", err, c.Questions)
	}
}
