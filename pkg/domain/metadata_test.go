package domain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFragmentMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given map[string]any
		doc   Document
		want  map[string]any
	}{
		"nothing of nothing": {},
		"what the document says stands apart from what the caller says": {
			given: map[string]any{"author": "me"},
			doc:   Document{Title: "Pumps", Language: "en", Metadata: map[string]string{"author": "Ada", "tenant": "b"}},
			want: map[string]any{"author": "me", "document": map[string]any{
				"title": "Pumps", "language": "en", "author": "Ada", "tenant": "b"}},
		},
		"a caller's own key stays the caller's": {
			given: map[string]any{"document": 7}, doc: Document{Title: "Pumps"}, want: map[string]any{"document": 7},
		},
		"a description stays with the datasource": {
			given: map[string]any{"a": "b"}, doc: Document{Metadata: map[string]string{MetaDescription: "long"}},
			want: map[string]any{"a": "b"},
		},
		"long values do not fill every row": {
			doc:  Document{Title: "Pumps", Metadata: map[string]string{"z": strings.Repeat("x", maxFoundMetadata)}},
			want: map[string]any{"document": map[string]any{"title": "Pumps"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, FragmentMetadata(test.given, test.doc.Info())); diff != "" {
				t.Error(diff)
			}
			if _, added := test.given["document"].(map[string]any); added {
				t.Error("the caller's own map was changed")
			}
		})
	}
}
