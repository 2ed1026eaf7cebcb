// Package static implements an embedder that needs neither a download nor a server. Its table has a trained vector for
// each entry in the WordPiece vocabulary of all-MiniLM-L6-v2. A text's vector is the weighted mean of its tokens'
// vectors.
//
// The table was trained so that these means approximate the sentence vectors of all-MiniLM-L6-v2. train/README.md
// describes the training, and NOTICE names the work it builds on. The model knows only English. Coverage returns how
// much of a text it knows, so that ranking can give its scores less weight in other languages.
package static
