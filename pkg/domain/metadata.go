package domain

import (
	"maps"
	"math"
	"slices"
)

// metaDocument is the key in a fragment's metadata that holds the document's own metadata. Keeping it under a separate
// key prevents the document from overriding the caller's metadata.
const metaDocument = "document"

// metaLanguage is the key, below metaDocument, for the language stated by the document.
const metaLanguage = "language"

// Maximum size in bytes of the document metadata in each row, counting keys and values. Metadata beyond this size is
// stored only in the datasource.
const maxFoundMetadata = 2 << 10

// FragmentMetadata returns a fragment's metadata, for filters and readers: the caller's metadata together with the
// document's own metadata, title and language. doc may be nil.
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
		if key != MetaDescription { // long, and about the whole document
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

// metaConfidence is the key, below metaDocument, for the mean confidence of text recognised in pictures (OCR), from 0
// to 1.
const metaConfidence = "ocrConfidence"

// WithConfidence adds the OCR confidence for text recognised in a picture to a fragment's metadata from
// FragmentMetadata. given is the caller's metadata.
func WithConfidence(metadata, given map[string]any, confidence float64) map[string]any {
	if _, taken := given[metaDocument]; taken {
		return metadata
	}
	found := map[string]any{}
	if document, ok := metadata[metaDocument].(map[string]any); ok {
		found = maps.Clone(document)
	}
	found[metaConfidence] = math.Round(confidence*confidenceSteps) / confidenceSteps
	out := maps.Clone(metadata)
	if out == nil {
		out = map[string]any{}
	}
	out[metaDocument] = found
	return out
}

// StatedLanguage returns the language stated by a fragment's document, as written there ("de", "en-GB"), or "".
// `metadata` may be nil.
func StatedLanguage(metadata map[string]any) string {
	found, _ := metadata[metaDocument].(map[string]any)
	language, _ := found[metaLanguage].(string)
	return language
}
