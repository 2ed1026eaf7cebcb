package domain

import (
	"encoding/json"
	"time"
)

// Explanation explains how a query's fragments were found. Besides ids and numbers, it contains only words from the
// query and documents' names and headings.
type Explanation struct {
	Query            string         // the searched text; for an agent, the question along with the context it refers to
	Parts            []string       // the questions in Query if there are several; each was also searched separately
	Plan             *ExplainedPlan // how a model split the query; nil if that was unnecessary
	Mode             SearchMode
	TopK             int
	MaxPerDatasource int // 0 means any number
	Filters          ExplainedFilters
	Datastores       []ExplainedDatastore // in the order of the request
	Rerank           ExplainedRerank
	Terms            map[string]float64  // weight by query term, the maximum over all datastores; at most MaxExplainedTerms
	Words            map[string][]string // index term → words of the query that were reduced to it
	Candidates       int                 // number of ranked chunks in all datastores
	Fragments        []ExplainedFragment
	Dropped          ExplainedDrops
	Notes            []string        // limitations of the result, as text
	Model            *ExplainedModel // model that wrote the answer; nil if no language model was used
}

// Limits on an Explanation.
const (
	MaxExplainedTerms = 100 // maximum number of query terms to list
	MaxExplainedDrops = 50  // maximum number of dropped chunks to list
)

// ExplainedFilters are the filters applied to a query.
type ExplainedFilters struct {
	Datasources *int           // number of datasources selected by custom ids and datasource ids, including sites' pages; nil without such a filter
	Metadata    map[string]any // required value for each key
	// Where is the request's metadata condition (see package filter) as canonical JSON, or nil.
	Where json.RawMessage
}

// ExplainedDatastore explains the search in one datastore.
type ExplainedDatastore struct {
	ID              string
	Engine          Engine
	Model           string  // embedding model
	DenseWeight     float64 // weight of the dense leg; the lexical leg's weight is the remainder
	Lexical         bool    // the query's words were searched for
	Dense           bool    // the query's vector was searched for
	Depth           int     // candidates requested from each leg
	Candidates      int
	Inactive        int                // rows found that belong to no active generation
	Boosts          json.RawMessage    // boosts for its documents; may be nil
	SettingsVersion int64              // version of its search settings; 0 means none
	Evidence        *ExplainedEvidence // why DenseWeight differs from AverageWeight; nil if it does not
}

// ExplainedEvidence shows why dense (vector) search has a different weight for this query than on average.
type ExplainedEvidence struct {
	// AverageWeight is the model's weight, which is lowered if the model does not know every word in the query.
	AverageWeight float64
	Symbols       float64 // how much of the best lexical candidates' text is numbers and symbols, scaled to 0 to 1; lowers the weight
	RarestWord    bool    // whether the best lexical candidate contains the query's rarest word; lowers the weight
	Agreement     float64 // fraction of documents that the two legs' ten best candidates have in common; lowers the weight
}

// ExplainedRerank describes how a query's candidates were reranked.
type ExplainedRerank struct {
	Model      string // "" if there is no reranker
	Candidates int    // reranked candidates; 0 if reranking was skipped or failed
	Unscored   int    // candidates that kept their order because time ran out
	Took       time.Duration
	Error      string // why the first stage's order was kept
}

// ExplainedFragment holds the scores of a fragment's best chunk at each stage. Ranks start at 1 and count all
// candidates; 0 means that the stage did not find or receive the chunk.
type ExplainedFragment struct {
	ChunkID      string
	DatastoreID  string
	Lexical      float64 // BM25
	LexicalRank  int
	Dense        float64 // cosine
	DenseRank    int
	Fused        float64 // weighted sum of both legs
	FusedRank    int
	Document     float64   // fraction of the query's words that occur in the document, 0 to 1; part of the lexical score in Fused
	Neighbours   float64   // score added for adjacent chunks, minus what they add to the document's best chunk
	LinkList     float64   // score deducted because the page is a list of links; otherwise 0
	Boost        float64   // how much boosts changed the score
	BoostFactors []float64 // factor from each of the datastore's boosts
	Pinned       bool      // moved to the top by a pin
	Rank         int       // rank in the first stage
	Reranked     float64
	RerankedRank int
	Terms        []string // query terms in the chunk
	Merged       []string // adjacent chunks whose text the fragment includes
	Duplicates   []string // chunks with nearly the same text that this fragment represents
}

// DropReason says why a candidate is not among the fragments.
type DropReason string

// Reasons for dropping a candidate.
const (
	DropDuplicate DropReason = "duplicate" // a better candidate has nearly the same text
	DropMerged    DropReason = "merged"    // its text is part of a better candidate's fragment
	DropOverMax   DropReason = "over_max_per_datasource"
	DropBelow     DropReason = "below_top_k"
)

// ExplainedDrops counts dropped candidates and lists the best of them.
type ExplainedDrops struct {
	Inactive   int // rows found that belong to no active generation
	Blocked    int // rows found in documents hidden by a pin
	Duplicates int
	Merged     int
	OverMax    int
	Below      int
	Chunks     []ExplainedDrop // ordered by rank, at most MaxExplainedDrops
}

// ExplainedDrop is a dropped chunk.
type ExplainedDrop struct {
	ChunkID        string
	DatasourceID   string
	DatasourceName string
	Page           int    // from 1; 0 if there is none
	Heading        string // may be ""
	Reason         DropReason
	For            string // id of the chunk whose fragment contains or represents this chunk, or ""
	Rank           int    // rank before it was dropped
	Score          float64
}

// PlanReason says why a model was asked to plan the searches for a question.
type PlanReason string

// Reasons for a plan.
const (
	PlanComparison PlanReason = "comparison" // the question compares things that no fragment covers together
	PlanSteps      PlanReason = "steps"      // the question has a relative clause that no fragment covers
	PlanCoverage   PlanReason = "coverage"   // no fragment covers the words of the question or of one of its sub-questions
)

// ExplainedPlan describes a model's search plan.
type ExplainedPlan struct {
	Reason           PlanReason
	Questions        []string // searched sub-questions; empty if the plan was not used
	Next             string   // the next step's question, completed with what the first sub-questions found; "" if there is none
	Error            string   // why the plan or its next step was not used; "" if everything was used
	PromptTokens     int64
	CompletionTokens int64
}

// ExplainedModel describes how the model that wrote the answer was used.
type ExplainedModel struct {
	Name             string // the provider's name
	Fallback         bool   // whether the preferred model failed
	PromptTokens     int64
	CompletionTokens int64
	Estimated        bool     // whether a token count is estimated, because the provider did not report it
	Cut              bool     // whether the answer was cut off at maxTokens or the model's limit
	Ignored          []string // parameters, from the request or agent, that the model does not support
	Fragments        int      // number of fragments in the prompt
	LeftOut          int      // relevant fragments that did not fit into the context window
}
