package domain

import (
	"maps"
	"slices"
)

// metaDocument is the key of a fragment's metadata under which stands what its document says of itself: apart from the keys
// of the caller, for which a document must not be able to speak.
const metaDocument = "document"

// metaLanguage is, beneath metaDocument, the key of the language that a document states for itself.
const metaLanguage = "language"

// maxFoundMetadata bounds what a document says of itself in each of its rows, in bytes of keys and values. The datasource has
// the whole of it.
const maxFoundMetadata = 2 << 10

// FragmentMetadata is what fragments are filtered by and what readers see with them: what the caller has given, and what the
// document says of itself, its title and its language. given is not changed; doc may be nil.
func FragmentMetadata(given map[string]any, doc *DocumentInfo) map[string]any {
	if doc == nil {
		return given
	}
	found := map[string]any{}
	left := maxFoundMetadata
	say := func(key, value string) {
		if left -= len(key) + len(value); value != "" && left >= 0 {
			found[key] = value
		}
	}
	say("title", doc.Title)
	say(metaLanguage, doc.Language)
	for _, key := range slices.Sorted(maps.Keys(doc.Metadata)) {
		if key != MetaDescription { // long, and of the document rather than of a piece of it
			say(key, doc.Metadata[key])
		}
	}
	if _, taken := given[metaDocument]; taken || len(found) == 0 {
		return given
	}
	out := maps.Clone(given)
	if out == nil {
		out = map[string]any{}
	}
	out[metaDocument] = found
	return out
}

// StatedLanguage is the language that a fragment's document states for itself, as the document writes it ("de", "en-GB"); "" when
// it states none. metadata may be nil.
func StatedLanguage(metadata map[string]any) string {
	found, _ := metadata[metaDocument].(map[string]any)
	language, _ := found[metaLanguage].(string)
	return language
}
