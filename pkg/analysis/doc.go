// Package analysis splits text into sentences and into terms for lexical search. All engines and the extractive
// answerer use it, so they agree on the terms.
//
// Each document's language is detected, and its words are stemmed in that language. A query is too short to tell its
// language reliably, so each of its words becomes a group of forms: the word itself and its stems in each language of
// the searched documents. A document matches the group if it contains one of the forms. So a word always matches
// itself, even if the document's language was detected wrongly, and its inflections match if it was detected correctly.
//
// Text in scripts without spaces between words (Han, kana, Hangul, Thai and similar ones) is indexed as single
// characters and pairs of adjacent characters.
package analysis

// Limits that hold even for malicious text.
const (
	// MaxTermRunes is the maximum length of a term in characters. Longer words are truncated in documents and queries.
	MaxTermRunes = 64
	// MaxTerms is the maximum number of terms per document. Lexical search finds nothing beyond that.
	MaxTerms = 200_000
	// MaxQueryTerms is the maximum number of distinct terms per query.
	MaxQueryTerms = 256
	// Maximum number of bytes analysed per query. The rest is ignored.
	maxQueryBytes = 64 << 10
	// Number of words used for language detection.
	maxDetectWords = 300
)
