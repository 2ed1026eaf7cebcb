// Package static implements an embedder that needs no download and no server. It uses a table with one trained vector
// for each entry of the WordPiece vocabulary of all-MiniLM-L6-v2. A text's vector is the weighted mean of its tokens'
// vectors.
//
// The table was trained so that these means approximate the sentence vectors of all-MiniLM-L6-v2. train/README.md
// describes the training, NOTICE the work that it builds on. The model knows only English: Coverage returns the share
// of a text that it knows, so that the ranking can give its scores less weight for other languages.
package static
