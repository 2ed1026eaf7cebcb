package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func TestRowMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given map[string]any
		doc   domain.Document
		want  map[string]any
	}{
		"nothing of nothing": {},
		"what the document says stands apart from what the caller says": {
			given: map[string]any{"author": "me"},
			doc:   domain.Document{Title: "Pumps", Language: "en", Metadata: map[string]string{"author": "Ada", "tenant": "b"}},
			want: map[string]any{"author": "me", "document": map[string]any{
				"title": "Pumps", "language": "en", "author": "Ada", "tenant": "b"}},
		},
		"a caller's own key stays the caller's": {
			given: map[string]any{"document": 7}, doc: domain.Document{Title: "Pumps"}, want: map[string]any{"document": 7},
		},
		"a description stays with the datasource": {
			given: map[string]any{"a": "b"}, doc: domain.Document{Metadata: map[string]string{domain.MetaDescription: "long"}},
			want: map[string]any{"a": "b"},
		},
		"long values do not fill every row": {
			doc:  domain.Document{Title: "Pumps", Metadata: map[string]string{"z": strings.Repeat("x", maxFoundMetadata)}},
			want: map[string]any{"document": map[string]any{"title": "Pumps"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := domain.Job{Metadata: test.given}
			if diff := cmp.Diff(test.want, rowMetadata(job, &test.doc)); diff != "" {
				t.Error(diff)
			}
			if _, added := test.given["document"].(map[string]any); added {
				t.Error("the caller's own map was changed")
			}
		})
	}
}
