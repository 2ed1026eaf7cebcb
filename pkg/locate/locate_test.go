package locate_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/locate"
)

// files is both the catalog and the store of originals. It maps datasource ids to the originals' contents.
type files map[string]string

func (f files) Datasource(_ context.Context, workspaceID, id string) (domain.Datasource, error) {
	if _, ok := f[id]; !ok || workspaceID != "w" {
		return domain.Datasource{}, domain.NotFound("datasource", id)
	}
	return domain.Datasource{ID: id, Original: &domain.Original{Key: id, Name: id + ".pdf"}}, nil
}

func (f files) Get(_ context.Context, key string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(f[key])), nil
}

// reader is an Extractor that returns one rectangle per span. The rectangle's page number is the length of the file in
// bytes.
type reader struct{ err error }

func (r reader) Locate(ctx context.Context, req extract.Request, passages []extract.Passage) ([][][]domain.PageRectangle, error) {
	if req.Key == "" {
		return nil, errors.New("the request does not identify the content")
	}
	data, err := io.ReadAll(req.Reader)
	if err != nil || r.err != nil {
		return nil, errors.Join(err, r.err)
	}
	if string(data) == "slow" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var out [][][]domain.PageRectangle
	for _, p := range passages {
		var spans [][]domain.PageRectangle
		for _, s := range p.Spans {
			spans = append(spans, []domain.PageRectangle{{Page: len(data), X: float64(s[0]), Width: float64(s[1] - s[0])}})
		}
		out = append(out, spans)
	}
	return out, nil
}

func passage(id, mimeType string, page int, spans ...[2]int) locate.Passage {
	return locate.Passage{Fragment: domain.Fragment{DatasourceID: id, MIMEType: mimeType, Page: page, Text: "some text"}, Spans: spans}
}

const pdf = "application/pdf"

func TestLocate(t *testing.T) {
	t.Parallel()
	stored := files{"a": "a", "b": "bb"}
	rectangle := func(page int, x, width float64) []domain.PageRectangle {
		return []domain.PageRectangle{{Page: page, X: x, Width: width}}
	}
	tests := map[string]struct {
		reader   reader
		passages []locate.Passage
		want     [][][]domain.PageRectangle
		logged   string
	}{
		"the results keep the order of passages and spans": {
			passages: []locate.Passage{passage("b", pdf, 1, [2]int{0, 4}, [2]int{5, 9}), passage("a", pdf, 1, [2]int{0, 1}), passage("b", pdf, 2, [2]int{1, 2})},
			want:     [][][]domain.PageRectangle{{rectangle(2, 0, 4), rectangle(2, 5, 4)}, {rectangle(1, 0, 1)}, {rectangle(2, 1, 1)}},
		},
		"other formats and texts without pages have no rectangles": {
			passages: []locate.Passage{passage("a", "text/html", 1, [2]int{0, 4}), passage("a", pdf, 0, [2]int{0, 4})},
			want:     [][][]domain.PageRectangle{{nil}, {nil}},
		},
		"a file that is gone does not affect the others": {
			passages: []locate.Passage{passage("gone", pdf, 1, [2]int{0, 4}), passage("a", pdf, 1, [2]int{0, 1})},
			want:     [][][]domain.PageRectangle{{nil}, {rectangle(1, 0, 1)}},
			logged:   "datasource=gone",
		},
		"a file that cannot be read is logged": {
			reader:   reader{errors.New("damaged")},
			passages: []locate.Passage{passage("a", pdf, 1, [2]int{0, 4})},
			want:     [][][]domain.PageRectangle{{nil}},
			logged:   "damaged",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			l := locate.Locator{Catalog: stored, Originals: stored, Extractor: tt.reader, Log: slog.New(slog.NewTextHandler(&log, nil))}
			if diff := cmp.Diff(tt.want, l.Locate(t.Context(), "w", tt.passages)); diff != "" {
				t.Errorf("rectangles (-want +got):\n%s", diff)
			}
			if (tt.logged == "") != (log.Len() == 0) || !strings.Contains(log.String(), tt.logged) {
				t.Errorf("log = %q, want %q in it", log.String(), tt.logged)
			}
		})
	}
}

func TestLocateEndsInTime(t *testing.T) {
	t.Parallel()
	stored := files{"a": "slow", "b": "bb"}
	l := locate.Locator{Catalog: stored, Originals: stored, Extractor: reader{}, Timeout: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	got := l.Locate(t.Context(), "w", []locate.Passage{passage("a", pdf, 1, [2]int{0, 4})})
	if diff := cmp.Diff([][][]domain.PageRectangle{{nil}}, got); diff != "" {
		t.Errorf("rectangles (-want +got):\n%s", diff)
	}
}

func TestLocateWaitsForASlotBeforeItReads(t *testing.T) {
	t.Parallel()
	slots := admission.New(admission.Options{Limit: 1, Waiting: 1})
	slot, _ := slots.Enter(t.Context(), "other")
	var log bytes.Buffer
	l := locate.Locator{
		Catalog: files{"a": "a"}, Originals: files{}, Extractor: reader{}, Timeout: time.Millisecond, Slots: slots, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	passages := []locate.Passage{passage("a", pdf, 1, [2]int{0, 1})}
	l.Locate(t.Context(), "w", passages)
	if !strings.Contains(log.String(), "too many other files") {
		t.Errorf("log = %q", log.String())
	}
	slot.Leave()
	stored := files{"a": "a"}
	l.Originals, l.Timeout = stored, time.Minute
	if got := l.Locate(t.Context(), "w", passages); len(got[0][0]) != 1 || slots.Held("w") != 0 {
		t.Errorf("rectangles %v; %d slots are held", got, slots.Held("w"))
	}
}

func TestLocateSpans(t *testing.T) {
	t.Parallel()
	stored := files{"a": "a", "b": "bb"}
	l := locate.Locator{Catalog: stored, Originals: stored, Extractor: reader{}, Log: slog.New(slog.DiscardHandler)}
	span := func(source, start, end int) domain.SourceSpan {
		return domain.SourceSpan{Source: source, In: domain.TextRange{Start: start, End: end}}
	}
	located := func(s domain.SourceSpan, page int) domain.SourceSpan {
		s.Page = page
		s.Rectangles = []domain.PageRectangle{{Page: page, X: float64(s.In.Start), Width: float64(s.In.End - s.In.Start)}}
		return s
	}
	sources := []domain.Fragment{{DatasourceID: "a", MIMEType: pdf, Page: 1, Text: "some text"}, {DatasourceID: "x", MIMEType: "text/html", Text: "a web page"}, {DatasourceID: "b", MIMEType: pdf, Page: 2, Text: "more text"}}
	sentences := []domain.AnswerSentence{{Spans: []domain.SourceSpan{span(2, 0, 4), span(0, 5, 9)}}, {}, {Spans: []domain.SourceSpan{span(1, 0, 5), span(2, 5, 9)}}}
	other := []domain.AnswerSentence{{Spans: []domain.SourceSpan{span(0, 0, 4)}}}
	l.LocateSpans(t.Context(), "w", locate.Answer{Sources: sources, Sentences: sentences}, locate.Answer{}, locate.Answer{Sources: sources[2:], Sentences: other})
	want := []domain.AnswerSentence{{Spans: []domain.SourceSpan{located(span(2, 0, 4), 2), located(span(0, 5, 9), 1)}}, {}, {Spans: []domain.SourceSpan{span(1, 0, 5), located(span(2, 5, 9), 2)}}}
	if diff := cmp.Diff(want, sentences); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]domain.AnswerSentence{{Spans: []domain.SourceSpan{located(span(0, 0, 4), 2)}}}, other); diff != "" {
		t.Errorf("sentences of another answer (-want +got):\n%s", diff)
	}
}
