// Package analysis splits text into the terms of lexical search, and into sentences. All engines and the extractive
// answerer use it, so that terms are the same everywhere.
//
// A document's words are stemmed in the language that is detected in the document. A query is too short for reliable
// detection, so each of its words becomes a group of forms: the word itself and its stems in each language of the
// searched documents. A document matches the group if it contains one of the forms. So a word always matches documents
// that contain the same word, whatever language was detected, and matches its inflections if the detected language was
// right.
//
// Scripts without spaces between words (Han, kana, Hangul, Thai and similar ones) are indexed as single characters and
// as pairs of adjacent characters.
package analysis

// Limits of the package. They also hold for hostile text.
const (
	// MaxTermRunes is the maximum length of a term in characters. Longer words are truncated, in documents and in
	// queries.
	MaxTermRunes = 64
	// MaxTerms is the maximum number of terms of a document. The rest of its text is not found by words.
	MaxTerms = 200_000
	// MaxQueryTerms is the maximum number of different terms of a query.
	MaxQueryTerms = 256
	// Maximum number of bytes that are read of a query.
	maxQueryBytes = 64 << 10
	// Number of words that language detection reads.
	maxDetectWords = 300
)
