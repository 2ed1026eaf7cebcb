package domain

// SearchMode selects how fragments are found and ranked.
type SearchMode string

// Search modes.
const (
	SearchHybrid  SearchMode = "hybrid"  // words and vectors
	SearchLexical SearchMode = "lexical" // only the query's words
	SearchDense   SearchMode = "dense"   // only the query's vector
)
