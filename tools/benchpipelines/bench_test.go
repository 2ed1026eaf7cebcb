package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/embed/transformer"
	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
	"github.com/sluice/sluice/pkg/extract"
)

func TestMain(m *testing.M) {
	extract.RunChildIfAsked() // doesn't return in a child process that reads documents
	os.Exit(m.Run())
}

func TestTheTableShowsRelativeTimes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeTable(&b, "no embedding model", inputFiles{paths: make([]string, 20), bytes: 2_500_000, made: true}, []result{
		{Name: "Sluice, over HTTP", Took: 2, Files: 20, Chunks: 300, Words: 50}, {Name: "Slow", Took: 12, Files: 18, Chunks: 80}, {Name: "Gone", Absent: "not installed"},
	})
	for _, want := range []string{
		"20 made-up documents of 2.5 MB, no embedding model, ", "| Sluice, over HTTP | 2.0 s | 1.0 | 10.0 | 20 | 2.5 | 300 |\n",
		"| Slow | 12.0 s | 6.0 | 1.5 | 18 |  | 80 |\n", "\nGone was not measured: not installed\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}

func TestTheTableShowsEmbeddedTokens(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeTable(&b, "all embedded", inputFiles{paths: make([]string, 2)}, []result{
		{Name: "Sluice, over HTTP", Took: 2, Files: 2, Chunks: 30, Tokens: 4000}, {Name: "Slow", Took: 3, Files: 2, Chunks: 8, Tokens: 3000, CutTokens: 700},
	})
	for _, want := range []string{
		"| chunks | tokens embedded | cut off |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n", "| 2 |  | 30 | 4000 | 0 |\n", "| 2 |  | 8 | 3000 | 700 |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}

func TestTokensAreCountedOfWhatTheServiceEmbeds(t *testing.T) {
	t.Parallel()
	files, model := t.TempDir(), t.TempDir()
	short, long := "The cat sat on the mat.", strings.TrimSpace(strings.Repeat("cat ", 100))
	for name, text := range map[string]string{"short.txt": short, "long.txt": long, "none.bin": "\x00\x01\x02"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := listInputs(files, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	tinymodel.Model{Kind: "bert"}.Write(t, model)
	embedder, err := transformer.Open(transformer.Config{Directory: model})
	if err != nil {
		t.Fatal(err)
	}
	all := embedder.Tokens("long.txt\n" + long)
	tokens, cut, err := countTokens(t.Context(), g, model)
	if err != nil {
		t.Fatal(err)
	}
	if want := embedder.Tokens("short.txt\n"+short) + embedder.MaxTokens(); tokens != want || cut != all-embedder.MaxTokens() || cut <= 0 {
		t.Errorf("%d tokens and %d cut off, want %d and %d", tokens, cut, want, all-embedder.MaxTokens())
	}
	if _, _, err := countTokens(t.Context(), g, t.TempDir()); err == nil {
		t.Error("an empty folder is taken for a model")
	}
}

func TestFilesAreGeneratedOrGiven(t *testing.T) {
	t.Parallel()
	made, err := listInputs("", t.TempDir(), 3)
	if err != nil || len(made.paths) != 3 || made.bytes == 0 || !made.made {
		t.Errorf("made up: %+v, %v", made, err)
	}
	theirs, err := listInputs(made.dir, "", 0)
	if err != nil || len(theirs.paths) != 3 || theirs.bytes != made.bytes || theirs.made {
		t.Errorf("somebody's: %+v, %v", theirs, err)
	}
	if _, err := listInputs(t.TempDir(), "", 0); err == nil {
		t.Error("an empty folder is taken")
	}
}

func TestWordsAreCountedOnceInAnyLayout(t *testing.T) {
	t.Parallel()
	found := make(wordSet)
	for _, text := range []string{"Name: Anna; Price: 12.50", "| name | price |\n| Bob | 12.50 |"} {
		found.add(text)
	}
	if len(found) != 6 { // name, anna, price, 12, 50 and bob
		t.Errorf("%v", found)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-documents", "0"}, {"-embedded", "-1"}, {"more"}, {"-nothing"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
