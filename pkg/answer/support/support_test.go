package support

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// judged returns the judged sentences from an answer with a single source.
func judged(t *testing.T, answer, text string) []domain.AnswerSentence {
	t.Helper()
	return Judge(answer, []domain.Fragment{{Text: text, Citation: 1, DatasourceName: "pump.pdf"}}).Sentences
}

const manual = "The Aurora X2 pump has a warranty of 7 years. It does not cover damage by frost. The price is 1,500.00 euros, and Lena Berg in Oslo repairs it."

func TestSentencesAreJudgedByTheirSources(t *testing.T) {
	t.Parallel()
	for sentence, supported := range map[string]bool{
		"The Aurora X2 pump has a warranty of 7 years. [1]":        true, // word for word
		"The pump's warranty lasts seven years [1].":               true,
		"The Aurora X2 costs 1500 euros [1].":                      true,
		"Lena Berg repairs the Aurora X2 [1].":                     true,
		"Damage by frost is not covered [1].":                      true,
		"The Aurora X2 pump has a warranty of 9 years. [1]":        false,
		"The Aurora X3 pump has a warranty of 7 years. [1]":        false,
		"The Aurora X2 pump has a warranty of 7 months. [1]":       false,
		"The Aurora X2 costs 15.00 euros [1].":                     false,
		"The Aurora X2 costs 1.5 euros [1].":                       false,
		"Lars Berg repairs the Aurora X2 [1].":                     false,
		"The warranty covers damage by frost [1].":                 false,
		"The Aurora X2 pump has no warranty of 7 years. [1]":       false,
		"The manufacturer recommends synthetic oil for gears [1].": false,
	} {
		got := judged(t, sentence, manual)
		if len(got) != 1 || got[0].Support == nil || (*got[0].Support >= Threshold) != supported {
			t.Errorf("%q: %+v, want supported %t", sentence, show(got), supported)
		}
	}
}

func show(sentences []domain.AnswerSentence) (out []any) {
	for _, s := range sentences {
		support := -1.0
		if s.Support != nil {
			support = *s.Support
		}
		out = append(out, s.Start, s.End, support, s.Spans)
	}
	return out
}

func TestSentencesOfAnAnswer(t *testing.T) {
	t.Parallel()
	answer := "# Warranty\n\nHere is the answer: 7 years apply. [1] It ends early.[1][2] See argv[1].\n\n- first item [1]\n- second\n  line\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nrun --now. Twice.\n```\n\n> Frost\n>\n> It is excluded. [1]\n\n保証は七年です。[1]霜害は対象外です。"
	marks := []domain.Fragment{{Citation: 1}, {Citation: 2}}
	var got []string
	for _, s := range Judge(answer, marks).Sentences {
		got = append(got, answer[s.Start:s.End])
	}
	want := []string{
		"# Warranty", "Here is the answer: 7 years apply. [1]", "It ends early.[1][2]", "See argv[1].", "first item [1]", "second\n  line", "| a | b |", "| 1 | 2 |",
		"```sh\nrun --now. Twice.\n```", "Frost", "It is excluded. [1]", "保証は七年です。[1]", "霜害は対象外です。",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestSentencesThatStateNothingHaveNoScore(t *testing.T) {
	t.Parallel()
	for _, sentence := range []string{
		"In the words of the documents:", "Here is the answer:", "# Warranty", "Shall I explain more?", "The documents do not answer: “How heavy is it?”", "The documents don't say how heavy it is.",
		"文書には次のように書かれています。",
	} {
		if got := judged(t, sentence, manual); len(got) != 1 || got[0].Support != nil {
			t.Errorf("%q: %v", sentence, show(got))
		}
	}
	if got := Judge("Hello! How can I help?", nil).Sentences; len(got) != 2 || got[0].Support != nil {
		t.Errorf("an answer without sources: %v", show(got))
	}
}

// TestSpansRoundTrip quotes every chunk of every test document, and each sentence in it, and requires that the
// quotation is at its span in the document's text.
func TestSpansRoundTrip(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"documents/*", "answers/tuning/*", "answers/held-out/*"} {
		found, err := filepath.Glob(filepath.Join("../../../testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 30 {
		t.Fatalf("there are only %d documents", len(files))
	}
	spans := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := readtest.Parse(t, filepath.Base(file), data)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, b := range doc.Blocks {
			texts = append(texts, b.Text)
		}
		full := strings.Join(texts, domain.BlockSeparator)
		chunks, err := chunk.New(chunk.Options{}).Chunks(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			f := domain.Fragment{Text: c.Text, Offset: c.Offset, Runs: c.Runs, Citation: 1}
			for _, quoted := range append(strings.Split(c.Text, "\n"), c.Text) {
				result := Judge(quoted+" [1]", []domain.Fragment{f})
				for _, s := range result.Sentences {
					for _, span := range s.Spans {
						spans++
						if span.Original == nil || full[span.Original.Start:span.Original.End] != span.Text {
							t.Fatalf("%s: the span %+v of %q is not in the document", file, span, quoted)
						}
						if got := strings.Join(strings.Fields(c.Text[span.In.Start:span.In.End]), " "); got != strings.Join(strings.Fields(span.Text), " ") {
							t.Fatalf("%s: the span %+v has %q in the fragment", file, span, got)
						}
					}
				}
				if diff := cmp.Diff(result.Sentences, stored(t, result.Sentences, f)); diff != "" {
					t.Fatalf("%s: sentences of %q, read back (-want +got):\n%s", file, quoted, diff)
				}
				for _, h := range result.Highlights[0] {
					if h.Start < 0 || h.End > len(c.Text) || h.Start >= h.End {
						t.Fatalf("%s: highlight %v of %q", file, h, c.Text)
					}
				}
			}
		}
	}
	if spans < 1000 {
		t.Errorf("only %d spans were compared", spans)
	}
}

// stored returns the sentences as they are after storing them.
func stored(t *testing.T, sentences []domain.AnswerSentence, sources ...domain.Fragment) (out []domain.AnswerSentence) {
	t.Helper()
	data, err := json.Marshal(sentences)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	domain.RestoreSpans(out, sources)
	return out
}

func TestDamagedSpansAreDropped(t *testing.T) {
	t.Parallel()
	source := domain.Fragment{Text: "thirty days", Citation: 2}
	span := func(source, start, end int) domain.SourceSpan {
		return domain.SourceSpan{Source: source, In: domain.TextRange{Start: start, End: end}}
	}
	got := []domain.AnswerSentence{{Spans: []domain.SourceSpan{span(0, 0, 6), span(1, 0, 6), span(-1, 0, 6), span(0, -1, 6), span(0, 7, 6), span(0, 0, 12)}}}
	domain.RestoreSpans(got, []domain.Fragment{source})
	want := []domain.AnswerSentence{{Spans: []domain.SourceSpan{{Citation: 2, In: domain.TextRange{End: 6}, Text: "thirty"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
