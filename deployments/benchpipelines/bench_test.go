package main

import (
	"io"
	"strings"
	"testing"
)

func TestTheTableTellsHowManyTimesAsLongOthersTook(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeTable(&b, "no embedding model", gathered{paths: make([]string, 20), bytes: 2_500_000, made: true}, []result{
		{Name: "Sluice, over HTTP", Took: 2, Files: 20, Chunks: 300}, {Name: "Slow", Took: 12, Files: 18, Chunks: 80}, {Name: "Gone", Absent: "not installed"},
	})
	for _, want := range []string{
		"20 made-up documents of 2.5 MB, no embedding model, ", "| Sluice, over HTTP | 2.0 s | 1.0 | 10.0 | 20 | 300 |\n",
		"| Slow | 12.0 s | 6.0 | 1.5 | 18 | 80 |\n", "\nGone was not measured: not installed\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}

func TestFilesAreMadeUpOrSomebodys(t *testing.T) {
	t.Parallel()
	made, err := gather("", t.TempDir(), 3)
	if err != nil || len(made.paths) != 3 || made.bytes == 0 || !made.made {
		t.Errorf("made up: %+v, %v", made, err)
	}
	theirs, err := gather(made.dir, "", 0)
	if err != nil || len(theirs.paths) != 3 || theirs.bytes != made.bytes || theirs.made {
		t.Errorf("somebody's: %+v, %v", theirs, err)
	}
	if _, err := gather(t.TempDir(), "", 0); err == nil {
		t.Error("an empty folder is taken")
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
