package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/eval/service"
)

func TestAQuestionHasItsNearestRows(t *testing.T) {
	t.Parallel()
	w := newWorkload(rowsPerDocument*parts, 3)
	for _, q := range w.questions {
		if len(q.nearest) != topK || len(q.filtered) != topK {
			t.Fatalf("%d nearest rows and %d of a part, want %d", len(q.nearest), len(q.filtered), topK)
		}
		for _, row := range q.filtered {
			if partOf(row) != filteredPart {
				t.Errorf("row %d is of part %d, want %d", row, partOf(row), filteredPart)
			}
		}
		score := func(row int) (sum float32) {
			for i, x := range w.vectors[row] {
				sum += x * q.vector[i]
			}
			return sum
		}
		last := score(q.nearest[topK-1]) + 1e-6
		for row := range w.vectors {
			if score(row) > last && !slices.Contains(q.nearest, row) {
				t.Errorf("row %d is nearer than the last of the nearest", row)
			}
		}
	}
}

func TestATextHasTheVectorOfItsMark(t *testing.T) {
	t.Parallel()
	w := newWorkload(rowsPerDocument*parts, 2)
	for text, want := range map[string][]float32{
		w.texts[17]: w.vectors[17], "# A title\n\n" + w.texts[5]: w.vectors[5], w.questions[1].text: w.questions[1].vector,
		w.uniqueSet(1)[2].text: w.fresh[uniqueQuestions+2].vector,
	} {
		if got := w.vectorOf(text); !slices.Equal(got, want) {
			t.Errorf("%.30q has another vector", text)
		}
	}
	for _, text := range []string{"", "item99999999", "item99999999999999999999999", "none"} {
		if got := w.vectorOf(text); len(got) != dimensions {
			t.Errorf("%q has a vector of %d dimensions", text, len(got))
		}
	}
}

func TestRowsAreReadFromFragments(t *testing.T) {
	t.Parallel()
	got := rowsOf([]service.Fragment{{Text: "item3 a b\n\nitem4 c"}, {Text: "question1 d"}, {Text: "item90 e"}, {Text: "items xitem5 item item6"}})
	if want := []int{3, 4, 90, 6}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got := recall([]int{1, 2, 3}, []int{2, 3, 4, 5}); got != 0.5 {
		t.Errorf("recall %v, want 0.5", got)
	}
}

func TestTheTablesShowRatiosAndMissingPeers(t *testing.T) {
	t.Parallel()
	fast, slow := figure{P50: 0.002, P99: 0.003, Rate: 400, Recall: 1}, figure{P50: 0.006, P99: 0.012, Rate: 100, CPU: 0.005, Recall: 0.5}
	var b strings.Builder
	writeTables(&b, settings{rows: 100_000, questions: 10}, []result{
		{Name: "Sluice", Figures: map[string]figure{
			"hybrid/1": fast, "hybrid/8": fast, "hybrid filtered/1": fast, "dense/1": fast, "dense/8": fast, "filtered/1": fast, "words/1": fast, "words/8": fast,
			"hybrid fresh/1": fast, "hybrid fresh/8": fast, "dense fresh/1": fast, "dense fresh/8": slow}},
		{Name: inProcess, Open: 0.1, Figures: map[string]figure{
			"hybrid/1": slow, "hybrid/8": slow, "hybrid filtered/1": slow, "dense/1": fast, "dense/8": slow, "filtered/1": slow, "words/1": slow, "words/8": slow}},
		{Name: "Other", Open: 1.5, Memory: 90 << 20, Figures: map[string]figure{"dense/1": slow, "dense/8": slow, "filtered/1": slow,
			"fresh/1": slow, "fresh/8": slow, "fresh bare/1": fast, "fresh bare/8": slow}},
		{Name: "Words", Figures: map[string]figure{"words/1": slow, "words/8": slow}},
		{Name: "Both", Figures: map[string]figure{"hybrid/1": slow, "hybrid/8": slow, "dense/1": fast, "dense/8": slow, "filtered/1": slow, "words/1": slow, "words/8": slow}},
		{Name: "Gone", Absent: "not installed"},
	})
	for _, want := range []string{
		"| Other | 6.0, 12.0 | 6.0, 12.0 | 100 | 4.0 | 5.0 ms | 6.0, 12.0 | 0.500, 0.500 | 90 MB | 1.5 s | 0 s |",
		"| Words | 6.0, 12.0 | 5.0 ms | 6.0, 12.0 | 100 | 4.0 | – |",
		"| **Sluice's index, in process, hybrid** | 6.0, 12.0 | 6.0, 12.0 | 100 | 4.0 | 5.0 ms | 6.0, 12.0 | 0.500, 0.500 | – | 0.1 s | 0 s |",
		"| **Sluice's index, in process, dense** | 2.0, 3.0 | 6.0, 12.0 | 100 | 4.0 | 5.0 ms | 6.0, 12.0 | 1.000, 0.500 | – | 0.1 s | 0 s |",
		"| **Sluice's index, in process** | 6.0, 12.0 | 5.0 ms | 6.0, 12.0 | 100 | 4.0 | – |",
		"| **Sluice, over HTTP, dense** | 2.0, 3.0 | 6.0, 12.0 | 100 | 4.0 |",
		"| Other | 6.0, 12.0 | 6.0, 12.0 | 100 | 4.0 |",
		"| Other, bare connection | 2.0, 3.0 | 6.0, 12.0 | 100 | 4.0 |",
		"| Both, hybrid | 6.0, 12.0 | 6.0, 12.0 | 100 | 4.0 | 5.0 ms | – | 0.500, 0.000 | – | 0.0 s | 0 s |",
		"| Both | 6.0, 12.0 | 5.0 ms | 6.0, 12.0 | 100 | 4.0 | – |",
		"Gone was not measured: not installed",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("there is no line\n%s\nin\n%s", want, b.String())
		}
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-rows", "5"}, {"-rows", "10001"}, {"-peers", "nobody"}, {"-each", "0s"}, {"-idle", "-1s"}, {"more"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
	s, err := parse([]string{"-peers", "chroma,fts5", "-each", "3s", "-alone"}, io.Discard)
	if err != nil || !s.alone || !slices.Equal(s.peers, []string{"chroma", "fts5"}) || s.duration != 3*time.Second {
		t.Errorf("settings %+v: %v", s, err)
	}
}

func TestUniqueQuestionsEnd(t *testing.T) {
	t.Parallel()
	questions := make([]question, warmupQuestions+5)
	for i := range questions {
		questions[i].text = strconv.Itoa(i)
	}
	var mu sync.Mutex
	asked := make(map[string]int)
	_, err := ask(t.Context(), querySettings{process: os.Getpid(), questions: questions, once: true, clients: 3, limit: time.Hour, one: func(_ context.Context, q question) ([]int, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[q.text]++
		return nil, nil
	}})
	if err != nil {
		t.Error(err)
	}
	for _, q := range questions {
		if n := asked[q.text]; n != 1 {
			t.Errorf("question %s was asked %d times", q.text, n)
		}
	}
}

func TestRepeatedQuestionsWereAskedBefore(t *testing.T) {
	t.Parallel()
	questions := make([]question, 3*warmupQuestions)
	for i := range questions {
		questions[i].text = strconv.Itoa(i)
	}
	var mu sync.Mutex
	asked := make(map[string]int)
	timed := 0
	_, err := ask(t.Context(), querySettings{process: os.Getpid(), questions: questions, clients: 3, limit: time.Second,
		one: func(_ context.Context, q question) ([]int, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[q.text]++
			return nil, nil
		},
		truth: func(q question) []int {
			mu.Lock()
			defer mu.Unlock()
			if asked[q.text] > 1 {
				timed++
			} else {
				t.Errorf("question %s is timed though it was never asked before", q.text)
			}
			return nil
		},
	})
	if err != nil || timed == 0 {
		t.Errorf("%d questions were timed: %v", timed, err)
	}
}
