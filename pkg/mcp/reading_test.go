package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// book is a library with a single datasource.
type book struct {
	Library
	datasource domain.Datasource
	chunks     []domain.Chunk
}

func newBook(texts ...string) *book {
	b := &book{datasource: domain.Datasource{ID: someID, Name: "Book", Processing: domain.Processing{ActiveGeneration: 1}, Chunks: int64(len(texts))}}
	offset := 0
	for i, text := range texts {
		b.chunks = append(b.chunks, domain.Chunk{Ordinal: i, Text: text, Offset: offset})
		b.datasource.TextBytes += int64(len(text))
		offset += len(text) + 2
	}
	return b
}

func (b *book) Datasource(context.Context, string) (domain.Datasource, error) {
	return b.datasource, nil
}
func (b *book) Chunks(_ context.Context, _ domain.Datasource, from, limit int) ([]domain.Chunk, error) {
	from = min(from, len(b.chunks))
	return b.chunks[from:min(from+limit, len(b.chunks))], nil
}

func TestChunksArePutTogetherAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		chunks []domain.Chunk
		want   string
	}{
		"paragraphs are parted by an empty line": {[]domain.Chunk{{Text: "One."}, {Text: "Two.", Offset: 6}}, "One.\n\nTwo."},
		"sentences of one paragraph by a space":  {[]domain.Chunk{{Text: "One."}, {Text: "Two.", Offset: 5}}, "One. Two."},
		"what was cut within a word by nothing":  {[]domain.Chunk{{Text: "On"}, {Text: "e.", Offset: 2}}, "One."},
		"a sentence that opens the next chunk again comes once": {
			[]domain.Chunk{{Text: "One. Two."}, {Text: "Two. Three.", Offset: 5}}, "One. Two. Three."},
		"what only seems to overlap comes whole": {
			[]domain.Chunk{{Text: "| a | b |"}, {Text: "head\n| c | d |", Offset: 5}}, "| a | b |\n\nhead\n| c | d |"},
		"nothing": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var j chunkJoiner
			for _, c := range test.chunks {
				j.add(c)
			}
			if j.String() != test.want {
				t.Errorf("got %q, want %q", j.String(), test.want)
			}
		})
	}
}

func TestADocumentIsReadInPartsThatMakeTheWhole(t *testing.T) {
	t.Parallel()
	texts := make([]string, 500)
	for i := range texts {
		texts[i] = fmt.Sprintf("<%d>%s", i, strings.Repeat("x", 700))
	}
	b := newBook(texts...)
	var got []string
	for at := 0; at < len(texts); {
		_, p, err := readDocument(t.Context(), b, resource{datasourceID: someID, ordinal: at})
		if err != nil {
			t.Fatal(err)
		}
		if p.from != at || p.to <= at || len(p.text) > maxPartBytes+1000 {
			t.Fatalf("the part is %d to %d, %d bytes", p.from, p.to, len(p.text))
		}
		got, at = append(got, p.text), p.to
	}
	if strings.Join(got, "\n\n") != strings.Join(texts, "\n\n") {
		t.Error("the parts do not make the whole")
	}
}

func TestAroundAPassage(t *testing.T) {
	t.Parallel()
	t.Run("a short document comes whole", func(t *testing.T) {
		t.Parallel()
		_, p, err := readDocument(t.Context(), newBook("a", "b", "c"), resource{datasourceID: someID, ordinal: 2, around: true})
		if err != nil || p.text != "a\n\nb\n\nc" || !p.isWhole() {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	t.Run("a long one begins somewhat before it", func(t *testing.T) {
		t.Parallel()
		texts := make([]string, 300)
		for i := range texts {
			texts[i] = strings.Repeat("x", 1000)
		}
		_, p, err := readDocument(t.Context(), newBook(texts...), resource{datasourceID: someID, ordinal: 200, around: true})
		if err != nil || p.from != 200-chunksBefore || p.to <= 200 || p.isWhole() {
			t.Errorf("got %d to %d, %v", p.from, p.to, err)
		}
	})
}

func TestDatasourcesWithoutTextAreReported(t *testing.T) {
	t.Parallel()
	for says, d := range map[string]domain.Datasource{
		"is a web site":            {Type: domain.TypeWebSite},
		"has no text: cannot open": {Type: domain.TypeFile, Status: domain.StatusError, Error: "cannot open"},
		"its status is pending":    {Type: domain.TypeFile, Status: domain.StatusPending},
	} {
		b := newBook()
		b.datasource = d
		if _, _, err := readDocument(t.Context(), b, resource{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, not %q", err, says)
		}
	}
}

func TestADocumentThatShrinksWhileReadEnds(t *testing.T) {
	t.Parallel()
	b := newBook("a", "b")
	b.datasource.Chunks = 9
	if _, p, err := readDocument(t.Context(), b, resource{datasourceID: someID}); err != nil || p.text != "a\n\nb" || p.to != 2 {
		t.Errorf("got %+v, %v", p, err)
	}
}
