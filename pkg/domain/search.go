package domain

// SearchMode selects how fragments are found and ranked.
type SearchMode string

// Search modes.
const (
	SearchHybrid  SearchMode = "hybrid"  // words and vectors
	SearchLexical SearchMode = "lexical" // only the query's words
	SearchDense   SearchMode = "dense"   // only the query's vector
)

// Facets holds the values of metadata keys with the number of documents for each. Each page of a web site is a
// document.
type Facets struct {
	Documents int // documents whose values were counted
	Facets    []Facet
}

// Facet holds the values of one key.
type Facet struct {
	Key      string
	Distinct int          // number of different values
	Values   []FacetValue // the most frequent values first
}

// FacetValue is a value of a metadata key with the number of documents that have it. If a document's value is a list,
// each item counts.
type FacetValue struct {
	Value any // string, float64 or bool; long texts are cut
	Count int
}
