// Package analysis turns text into the terms that lexical search compares, and into sentences. Every engine and the
// extractive answerer use it, so that a term means the same everywhere.
//
// A document's words are stemmed by the language that the document itself shows. A query is too short to be sure of
// its language, so each of its words becomes a group of forms: the word itself and its stems in every language that
// the searched documents are in. A document matches the group when it has one of the forms. Thus a word always finds a
// document that holds the same word, whatever was detected, and finds its inflections where the language was known.
//
// Scripts without spaces between words (Han, kana, Hangul, Thai and their like) are indexed as single characters and
// as pairs of neighbours.
package analysis

// Bounds of what the package takes; they hold for hostile text too.
const (
	// MaxTermRunes is the longest term; longer words are cut, on the side of documents and of queries alike.
	MaxTermRunes = 64
	// MaxTerms is how many terms a document yields at most; the rest of its text is not searched by words.
	MaxTerms = 200_000
	// MaxQueryTerms is how many different terms a query yields at most.
	MaxQueryTerms = 256
	// maxQueryBytes is how much of a query is read.
	maxQueryBytes = 64 << 10
	// maxDetectWords is how many words language detection looks at.
	maxDetectWords = 300
)
