package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

func TestWindowsHoldAllOfTheTextWithinTheirSize(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Die Pumpe läuft, 12 Stunden lang. 日本語\n\n", 50)
	for _, size := range []struct{ size, overlap int }{{16, 0}, {16, 5}, {512, 64}, {1, 0}} {
		spans := windows(text, size.size, size.overlap)
		covered := 0
		for i, s := range spans {
			if n := chunk.Tokens(text[s.Start:s.End]); n > size.size && size.size > 1 {
				t.Errorf("%v: window %d has %d tokens", size, i, n)
			}
			if s.Start > covered {
				t.Errorf("%v: the text from %d to %d is in no window", size, covered, s.Start)
			}
			if i > 0 {
				shared := chunk.Tokens(text[s.Start:max(s.Start, covered)])
				if shared > size.overlap || size.overlap > 3 && shared == 0 {
					t.Errorf("%v: window %d shares %d tokens", size, i, shared)
				}
			}
			covered = s.End
		}
		if strings.TrimSpace(text[covered:]) != "" {
			t.Errorf("%v: the text from %d is in no window", size, covered)
		}
	}
	if got := windows("", 512, 0); got != nil {
		t.Errorf("an empty text has windows %v", got)
	}
}

func TestTheIDOfAWindowHasItsPosition(t *testing.T) {
	t.Parallel()
	c := bench.Collection{Name: "x", Documents: []eval.Document{{ID: "a#b", Title: "T", Text: "one two three"}}}
	cut := chunking{name: "w", size: 2}.cut(c)
	var texts []string
	for _, d := range cut.documents {
		document, span, err := windowOf(d.CustomID)
		if err != nil || document != "a#b" || c.Documents[0].Text[span.Start:span.End] != d.Text || d.Name != "T" {
			t.Errorf("window %+v: %s, %v, %v", d, document, span, err)
		}
		texts = append(texts, d.Text)
	}
	if got := strings.Join(texts, "|"); got != "one two| three" {
		t.Errorf("the windows are %q", got)
	}
	for _, id := range []string{"", "a", "a#1", "a#x-y"} {
		if _, _, err := windowOf(id); err == nil {
			t.Errorf("%q is taken for a window's id", id)
		}
	}
}

func TestFragmentsAreFoundInTheirDocuments(t *testing.T) {
	t.Parallel()
	text := "Grüße.\r\n\r\nThe pump runs.  It stops.\r\n" + strings.Repeat("x ", 2000) + "The pump runs."
	p := newFragmentLocator([]eval.Document{{ID: "d", Text: text}})
	second := strings.LastIndex(text, "The")
	for name, c := range map[string]struct {
		fragment service.Fragment
		way      chunking
		want     []string
		at       int
	}{
		"as it stands":                    {service.Fragment{CustomID: "d", Text: "The pump runs.", Offset: 12}, chunkings[0], []string{"The pump runs"}, 12},
		"where the offset is nearest":     {service.Fragment{CustomID: "d", Text: "The pump runs.", Offset: second - 3}, chunkings[0], []string{"The pump runs"}, second},
		"with other white space":          {service.Fragment{CustomID: "d", Text: "runs. It\nstops.", Offset: 0}, chunkings[0], []string{"runs.  It stops"}, 21},
		"though a word was parted there":  {service.Fragment{CustomID: "d", Text: "It st-\nops.", Offset: 0}, chunkings[0], []string{"It stops"}, 28},
		"in parts":                        {service.Fragment{CustomID: "d", Text: "Grüße.\nIt stops.", Offset: 0}, chunkings[0], []string{"Grüße", "It stops"}, 0},
		"of a window":                     {service.Fragment{CustomID: "d#12-40", Text: "It stops."}, chunkings[1], []string{"It stops"}, 28},
		"nowhere":                         {service.Fragment{CustomID: "d", Text: "The valve"}, chunkings[0], nil, 0},
		"in a document that is not known": {service.Fragment{CustomID: "e", Text: "The pump"}, chunkings[0], nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, spans, err := p.locate(c.fragment, c.way)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range spans {
				got = append(got, text[s.Start:s.End])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(spans) > 0 && spans[0].Start != c.at {
				t.Errorf("found at %d, want %d", spans[0].Start, c.at)
			}
		})
	}
}

func TestABudgetTakesTheBeginning(t *testing.T) {
	t.Parallel()
	found := []service.Fragment{{Text: "ää"}, {Text: "bbb"}, {Text: "c"}}
	for limit, want := range map[budget]string{
		{fragments: 2}: "ää|bbb", {fragments: 9}: "ää|bbb|c", {characters: 1}: "ä", {characters: 2}: "ää", {characters: 4}: "ää|bb", {characters: 9}: "ää|bbb|c",
	} {
		var texts []string
		for _, f := range limit.take(found) {
			texts = append(texts, f.Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%v takes %q, want %q", limit, got, want)
		}
	}
	if found[0].Text != "ää" || found[1].Text != "bbb" {
		t.Errorf("the result was changed to %v", found)
	}
}

func TestAnswersAreLocated(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(chromaAnswers, "question,references,corpus_id\nhow?,\"[{\"\"content\"\": \"\"so\"\", \"\"start_index\"\": 9}]\",d\nelse?,[],d\n")
	write(covidAnswers, `{"data":[{"paragraphs":[{"qas":[{"id":7,"answers":[{"text":"so","answer_start":0}]},{"id":8,"answers":[{"text":"gone","answer_start":0}]}]}]}]}`)
	documents := []eval.Document{{ID: "d", Text: "äso, and so, so"}}
	for name, c := range map[string]struct {
		set  bench.Collection
		want passages
	}{
		"by the question's text, at the place in characters": {
			bench.Collection{Name: "chroma-chunk", Questions: []eval.Question{{ID: "q", Text: "how?"}}},
			passages{"q": {{Length: 2, Places: []eval.Position{{Document: "d", Start: 10}}}}},
		},
		"by the question's id": {
			bench.Collection{Name: "covidqa", Questions: []eval.Question{{ID: "7"}}, Relevant: eval.Judgements{"7": {"d": 1}}},
			passages{"7": {{Length: 2, Places: []eval.Position{{Document: "d", Start: 2}}}}},
		},
		"never without one":             {bench.Collection{Name: "covidqa", Questions: []eval.Question{{ID: "9"}}}, nil},
		"never where the text is not":   {bench.Collection{Name: "covidqa", Questions: []eval.Question{{ID: "8"}}, Relevant: eval.Judgements{"8": {"d": 1}}}, nil},
		"never for another collection":  {bench.Collection{Name: "cacm"}, nil},
		"never for a question not told": {bench.Collection{Name: "chroma-chunk", Questions: []eval.Question{{ID: "q", Text: "where?"}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.set.Documents = documents
			got, err := readAnswers(folder, c.set)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("the error is %v", err)
			}
			if c.want != nil {
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestTheTablesReportBounds(t *testing.T) {
	t.Parallel()
	figures := func(ndcg float64) scores { return scores{ndcg: []float64{ndcg, ndcg}} }
	s := settings{engines: []string{"embedded", "milvus"}, modes: []string{"hybrid", "dense"}}
	results := []result{
		{name: "cacm", bm25: 0.5, scores: map[way]scores{
			{"embedded", "hybrid"}: figures(0.52), {"embedded", "dense"}: figures(0.4), {"milvus", "hybrid"}: figures(0.505), {"milvus", "dense"}: figures(0.4),
		}},
		{name: "xquad-el", bm25: 0.9, scores: map[way]scores{
			{"embedded", "hybrid"}: figures(0.88), {"embedded", "dense"}: figures(0.2), {"milvus", "hybrid"}: figures(0.88), {"milvus", "dense"}: figures(0.2),
		}},
	}
	var b strings.Builder
	writeCollections(&b, s, results)
	for _, line := range []string{
		"| cacm | 2 | 0.5000 | **0.5200** [0.520, 0.520] | 0.4000 | +0.0200 | 0.0000 | 0.0000 | 0.0000 |",
		"| cacm | −0.0150 | +0.0000 |",
		"| **largest** | **0.0150** | **0.0000** |",
		"- embedded, hybrid: mean over the English collections at least 0.010 above BM25 (+0.0200): yes",
		"- embedded, hybrid: no other collection more than 0.01 under BM25 (xquad-el −0.0200): **no**",
		"- milvus, hybrid: mean over the English collections at least 0.010 above BM25 (+0.0050): **no**",
		"- milvus, hybrid: the engines agree within 0.01 (cacm hybrid −0.0150): **no**",
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("there is no line\n%s\nin\n%s", line, b.String())
		}
	}
}
