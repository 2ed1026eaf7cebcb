// Package static is the embedder that needs no download and no server: a table of trained vectors, one for each entry
// of the WordPiece vocabulary of all-MiniLM-L6-v2. A text's vector is the weighted mean of its tokens' vectors.
//
// The table was trained so that these means come close to the sentence vectors of all-MiniLM-L6-v2; train/README.md
// says on what text and how, NOTICE whose work it builds on. It knows English only: Coverage tells how much of a text
// it knows, so that a ranking can trust it less elsewhere.
package static
