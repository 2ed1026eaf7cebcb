package responses

import (
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/citation"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/domain"
)

// annotations returns an answer's citations. A citation's index is an offset in the text, in characters (Unicode code
// points). If the answer has citation markers, the index is the marker's offset. Otherwise it is the end of the
// sentence supported by the source.
func (r *run) annotations(text string, a answer.Answer) []object.Annotation {
	var out []object.Annotation
	at, characters := 0, 0
	add := func(bytes int, f domain.Fragment) {
		characters += utf8.RuneCountInString(text[at:bytes])
		at = bytes
		out = append(out, object.Annotation{Type: "file_citation", Index: characters, FileID: r.service.FileOf(f), Filename: f.DatasourceName})
	}
	if len(a.Sources) == 0 || r.request.ResponseFormat != nil {
		return nil
	}
	if a.Sources[0].Citation == 0 {
		for _, s := range a.Sentences {
			if s.End > len(text) {
				break
			}
			cited := map[int]bool{}
			for _, span := range s.Spans {
				if !cited[span.Source] {
					cited[span.Source] = true
					add(s.End, a.Sources[span.Source])
				}
			}
		}
		return out
	}
	for _, mark := range citation.NewMarker(a.Sources).Marks(text) {
		for _, n := range mark.Numbers {
			add(mark.Start, a.Sources[n-1])
		}
	}
	return out
}

func (r *run) results(found []domain.Fragment) []object.Result {
	out := make([]object.Result, len(found))
	for i, f := range found {
		attributes := map[string]any{}
		for name, value := range f.Metadata {
			switch value.(type) {
			case string, float64, bool:
				attributes[name] = value
			}
		}
		out[i] = object.Result{
			FileID: r.service.FileOf(f), Filename: f.DatasourceName, Score: f.Score, Text: f.Text, Attributes: attributes, StoreID: "vs_" + f.DatastoreID,
		}
	}
	return out
}
