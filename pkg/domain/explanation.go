package domain

// Explanation says how the fragments of a query came about. It holds ids, numbers, words of the query and the names and
// headings of documents, and nothing else of what they say.
type Explanation struct {
	Query            string // that was searched for: an agent's also holds what a question refers back to
	Mode             SearchMode
	TopK             int
	MaxPerDatasource int // 0: any number
	Filters          ExplainedFilters
	Datastores       []ExplainedDatastore // in the order of the request
	Rerank           ExplainedRerank
	Terms            map[string]float64  // inverse document frequency of each term of the query, the largest of the datastores; at most MaxExplainedTerms
	Words            map[string][]string // words of the query that became each of Terms
	Candidates       int                 // chunks that were ranked, over all datastores
	Fragments        []ExplainedFragment
	Dropped          ExplainedDrops
	Notes            []string        // what the result lacks, in words
	Model            *ExplainedModel // that wrote the answer; nil for a query without one, and where no language model was asked
}

// Bounds of an Explanation.
const (
	MaxExplainedTerms = 100 // of the query
	MaxExplainedDrops = 50  // chunks that were left out and are named
)

// ExplainedFilters are the filters as they were applied.
type ExplainedFilters struct {
	Datasources *int           // how many custom ids and datasource ids selected, pages of sites included; nil: not filtered
	Metadata    map[string]any // keys and the values they had to equal
}

// ExplainedDatastore is one datastore's part.
type ExplainedDatastore struct {
	ID          string
	Engine      Engine
	Model       string  // of its vectors
	DenseWeight float64 // of the dense leg; the lexical leg has the rest
	Lexical     bool    // the words of the query were compared
	Dense       bool    // its vector was
	Depth       int     // candidates asked for per leg
	Candidates  int
	Inactive    int // rows found that are of no active generation
}

// ExplainedRerank is what became of the second stage.
type ExplainedRerank struct {
	Model      string // "" when no reranker is configured, or it was not asked
	Candidates int    // that were reranked; 0 when it was not asked or failed
	Error      string // why the fragments stand as the first stage had them
}

// ExplainedFragment is how one fragment scored at each stage, by its best chunk. Ranks count from 1 over all candidates;
// 0 says that the stage did not find or see it.
type ExplainedFragment struct {
	ChunkID      string
	DatastoreID  string
	Lexical      float64 // BM25
	LexicalRank  int
	Dense        float64 // cosine
	DenseRank    int
	Fused        float64 // weighted sum of both legs
	FusedRank    int
	Document     float64 // 0 to 1: what its document has of the query's words, which counts among the words of Fused
	Neighbours   float64 // what chunks beside it added, beyond what they added to the best chunk of its document
	LinkList     float64 // score deducted because the page is a list of links; 0 for other pages
	Rank         int     // after that: of the first stage
	Reranked     float64
	RerankedRank int
	Terms        []string // terms of the query that the chunk holds
	Merged       []string // chunks beside it whose text is part of the fragment
	Duplicates   []string // chunks of much the same text that it stands for
}

// DropReason says why a candidate is not among the fragments.
type DropReason string

// The reasons.
const (
	DropDuplicate DropReason = "duplicate" // a better one has much the same text
	DropMerged    DropReason = "merged"    // its text is part of a better one's fragment
	DropOverMax   DropReason = "over_max_per_datasource"
	DropBelow     DropReason = "below_top_k"
)

// ExplainedDrops counts what was left out, and names the best of it.
type ExplainedDrops struct {
	Inactive   int // rows found that are of no active generation
	Duplicates int
	Merged     int
	OverMax    int
	Below      int
	Chunks     []ExplainedDrop // in order of rank, at most MaxExplainedDrops
}

// ExplainedDrop is one chunk that was left out.
type ExplainedDrop struct {
	ChunkID        string
	DatasourceID   string
	DatasourceName string
	Page           int    // from 1; 0: it has none
	Heading        string // "" when it has none
	Reason         DropReason
	For            string // the chunk whose fragment stands for it; "" when none does
	Rank           int    // it had
	Score          float64
}

// ExplainedModel is what an answer took of the model that wrote it.
type ExplainedModel struct {
	Name             string // as its provider has it
	Fallback         bool   // the model that was to answer failed before
	PromptTokens     int64
	CompletionTokens int64
	Estimated        bool     // one of them, since the provider did not say
	Cut              bool     // the answer ends where maxTokens, or the model's own limit, ended it
	Ignored          []string // parameters of the request or the agent that the model does not take as they were given
	Fragments        int      // that it was given
	LeftOut          int      // relevant ones that its window had no room for
}
