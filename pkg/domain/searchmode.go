package domain

// SearchMode says what fragments are found and ranked by.
type SearchMode string

// Modes of a search.
const (
	SearchHybrid  SearchMode = "hybrid"  // words and vectors together
	SearchLexical SearchMode = "lexical" // the query's words alone
	SearchDense   SearchMode = "dense"   // the query's vector alone
)
