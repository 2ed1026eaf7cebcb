package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	const text = "Größe: 3 m². Très long."
	half := 0.5
	sources := []domain.Fragment{{DatasourceID: "a"}, {DatasourceID: "b", Citation: 2}}
	first := domain.AnswerSentence{Start: 0, End: len("Größe: 3 m²."), Support: &half, Unsupported: true, Spans: []domain.SourceSpan{
		{Source: 1, Citation: 2, Original: &domain.TextRange{Start: 7, End: 9}, Text: "3 m", Page: 4, Rectangles: []domain.PageRectangle{{Page: 4, X: 1.006, Y: 2.004, Width: 3, Height: 4}}},
		{Source: 0, Text: "m²"},
	}}
	last := domain.AnswerSentence{Start: len("Größe: 3 m². "), End: len(text)}
	four, seven, nine := 4, 7, 9
	want := []Sentence{
		{Start: 0, End: 12, Support: &half, Unsupported: true, Spans: []Span{
			{SourceIndex: 1, Citation: 2, DatasourceID: "b", Start: &seven, End: &nine, Text: "3 m", Page: &four, Rectangles: []Rectangle{{Page: 4, X: 1.01, Y: 2, Width: 3, Height: 4}}},
			{DatasourceID: "a", Text: "m²", Rectangles: []Rectangle{}},
		}},
		{Start: 13, End: 23, Spans: []Span{}},
	}
	all := []domain.AnswerSentence{first, last}
	if diff := cmp.Diff(want, Sentences(text, sources, all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], Sentences(text[:last.End-1], sources, all)); diff != "" {
		t.Errorf("of the beginning of the answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Sentence{}, Sentences("", nil, nil)); diff != "" {
		t.Errorf("of no answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Größe: 3 m²."}, Unsupported(text, all)); diff != "" {
		t.Errorf("unsupported (-want +got):\n%s", diff)
	}
}

func TestHighlights(t *testing.T) {
	t.Parallel()
	source := domain.Fragment{Text: "ä b ç d", Highlights: []domain.TextRange{{Start: 0, End: 2}, {Start: 5, End: 7}, {Start: 8, End: 99}}}
	want := []Highlight{{Start: 0, End: 1}, {Start: 4, End: 5}, {Start: 6, End: 7}}
	if diff := cmp.Diff(want, Highlights(source)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
