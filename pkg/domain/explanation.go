package domain

import (
	"encoding/json"
	"time"
)

// Explanation explains how the fragments of a query were found. It contains ids, numbers, words from the query, and
// names and headings of documents, but no other content.
type Explanation struct {
	Query            string         // the searched text; for an agent, the question with the context that it refers to
	Parts            []string       // the questions in Query, if there are several; each was also searched on its own
	Plan             *ExplainedPlan // how a model divided the query; nil if no plan was needed
	Mode             SearchMode
	TopK             int
	MaxPerDatasource int // 0: any number
	Filters          ExplainedFilters
	Datastores       []ExplainedDatastore // in the same order as in the request
	Rerank           ExplainedRerank
	Terms            map[string]float64  // weight by query term, the maximum over the datastores; at most MaxExplainedTerms
	Words            map[string][]string // words in the query, by the index term that they were reduced to
	Candidates       int                 // number of chunks ranked, over all datastores
	Fragments        []ExplainedFragment
	Dropped          ExplainedDrops
	Notes            []string        // limitations of the result, as text
	Model            *ExplainedModel // model that wrote the answer; nil if no language model was used
}

// Limits on an Explanation.
const (
	MaxExplainedTerms = 100 // maximum number of query terms listed
	MaxExplainedDrops = 50  // maximum number of dropped chunks listed
)

// ExplainedFilters are the filters that were applied.
type ExplainedFilters struct {
	Datasources *int           // number of datasources selected by custom ids and datasource ids, including pages of sites; nil: no filter
	Metadata    map[string]any // keys with their required values
	// Where is the request's condition on metadata (see package filter) as JSON in canonical form, or nil if there is
	// none.
	Where json.RawMessage
}

// ExplainedDatastore explains the search in one datastore.
type ExplainedDatastore struct {
	ID              string
	Engine          Engine
	Model           string  // embedding model
	DenseWeight     float64 // weight of the dense leg; the lexical leg has the rest
	Lexical         bool    // the query's words were searched
	Dense           bool    // the query's vector was searched
	Depth           int     // candidates requested per leg
	Candidates      int
	Inactive        int                // rows found that belong to no active generation
	Boosts          json.RawMessage    // boosts of its documents; nil: none
	SettingsVersion int64              // version of its search settings; 0: none
	Evidence        *ExplainedEvidence // reasons for DenseWeight; nil: it is AverageWeight
}

// ExplainedEvidence says why the weight of the dense leg differs from its average.
type ExplainedEvidence struct {
	// AverageWeight is the model's weight, lowered if it does not know all words of the query.
	AverageWeight float64
	Symbols       float64 // extent to which the best candidates by words are numbers and symbols, 0 to 1; lowers the weight
	RarestWord    bool    // whether the best candidate by words contains the rarest word of the query; lowers the weight
	Agreement     float64 // share of documents among the best ten candidates of both legs; lowers the weight
}

// ExplainedRerank describes how a query's candidates were reranked.
type ExplainedRerank struct {
	Model      string // "" if no reranker was used
	Candidates int    // reranked candidates; 0 if reranking was skipped or failed
	Unscored   int    // candidates that kept their order because the time was up
	Took       time.Duration
	Error      string // reason why the first stage's order was kept
}

// ExplainedFragment holds the scores of a fragment at each stage, for its best chunk. Ranks are 1-based and include all
// candidates; 0 means that the stage did not find the chunk or was not given it.
type ExplainedFragment struct {
	ChunkID      string
	DatastoreID  string
	Lexical      float64 // BM25
	LexicalRank  int
	Dense        float64 // cosine
	DenseRank    int
	Fused        float64 // weighted sum of both legs
	FusedRank    int
	Document     float64   // share of the query's words that its document contains, 0 to 1; part of the lexical score in Fused
	Neighbours   float64   // score that adjacent chunks add, minus what they add to the best chunk of the document
	LinkList     float64   // score deducted because the page is a list of links; 0 for other pages
	Boost        float64   // change of the score by boosts
	BoostFactors []float64 // factor of each boost of the datastore
	Pinned       bool      // shown first because of a pin
	Rank         int       // rank in the first stage
	Reranked     float64
	RerankedRank int
	Terms        []string // query terms in the chunk
	Merged       []string // adjacent chunks whose text is part of the fragment
	Duplicates   []string // chunks with nearly the same text, which this fragment represents
}

// DropReason is the reason why a candidate is not among the fragments.
type DropReason string

// Reasons for dropping a candidate.
const (
	DropDuplicate DropReason = "duplicate" // a better candidate has nearly the same text
	DropMerged    DropReason = "merged"    // its text is part of a better candidate's fragment
	DropOverMax   DropReason = "over_max_per_datasource"
	DropBelow     DropReason = "below_top_k"
)

// ExplainedDrops counts the dropped candidates and lists the best of them.
type ExplainedDrops struct {
	Inactive   int // rows found that belong to no active generation
	Blocked    int // rows found of documents that a pin hides
	Duplicates int
	Merged     int
	OverMax    int
	Below      int
	Chunks     []ExplainedDrop // in order of rank, at most MaxExplainedDrops
}

// ExplainedDrop is a dropped chunk.
type ExplainedDrop struct {
	ChunkID        string
	DatasourceID   string
	DatasourceName string
	Page           int    // from 1; 0: none
	Heading        string // "": none
	Reason         DropReason
	For            string // id of the chunk whose fragment contains or represents this chunk; "" if there is none
	Rank           int    // rank before it was dropped
	Score          float64
}

// PlanReason is the reason why a model was asked to plan the searches for a question.
type PlanReason string

// Reasons for a plan.
const (
	PlanComparison PlanReason = "comparison" // the question compares things that no fragment covers together
	PlanSteps      PlanReason = "steps"      // the question has a relative clause that no fragment covers
	PlanCoverage   PlanReason = "coverage"   // no fragment covers the question's words, or those of one of its parts
)

// ExplainedPlan describes the plan that a model made for the searches.
type ExplainedPlan struct {
	Reason           PlanReason
	Questions        []string // sub-questions that were searched for; none if the plan was not used
	Next             string   // question for the next step, completed with what the first sub-questions found; "" if there was none
	Error            string   // reason why the plan or its next step was not used; "" if everything was used
	PromptTokens     int64
	CompletionTokens int64
}

// ExplainedModel describes the use of the model that wrote an answer.
type ExplainedModel struct {
	Name             string // the provider's name
	Fallback         bool   // the preferred model failed
	PromptTokens     int64
	CompletionTokens int64
	Estimated        bool     // a token count is estimated, because the provider did not report it
	Cut              bool     // the answer was cut at maxTokens or at the model's limit
	Ignored          []string // parameters of the request or the agent that the model does not support
	Fragments        int      // number of fragments in the prompt
	LeftOut          int      // relevant fragments that did not fit into the context window
}
