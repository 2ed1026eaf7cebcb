package domain

// SearchMode selects how fragments are found and ranked.
type SearchMode string

// Search modes.
const (
	SearchHybrid  SearchMode = "hybrid"  // words and vectors
	SearchLexical SearchMode = "lexical" // only the query's words
	SearchDense   SearchMode = "dense"   // only the query's vector
)

// Facets counts, for each metadata key, how many documents have each value. Every page of a web site is a document.
type Facets struct {
	Documents int // documents whose values were counted
	Facets    []Facet
}

// Facet holds one key's values.
type Facet struct {
	Key      string
	Distinct int          // number of different values
	Values   []FacetValue // the most frequent values first
}

// FacetValue is a metadata value and the number of documents that have it. A document whose value is a list counts once
// for each item.
type FacetValue struct {
	Value any // string, float64 or bool; long strings are truncated
	Count int
}
