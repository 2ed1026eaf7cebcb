// Package index defines the interface between Sluice and the engines that store chunks. Engines write rows by
// generation. Their searches return hits with lexical and dense scores. Package indextest is the conformance suite for
// engines.
package index

import (
	"context"
	"errors"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/filter"
)

// Space identifies a set of rows: those of one datastore, with vectors from one model. Rows of different spaces are
// never mixed.
type Space struct {
	DatastoreID string
	Model       string // embedding model id
	Dimensions  int    // length of Row.Vector and Query.Vector; 0 for a space without vectors
}

// Row is one chunk in one generation of a datasource.
type Row struct {
	Key          string // domain.ChunkKey of the next three fields; unique in the space
	DatasourceID string
	Generation   uint64 // at most math.MaxInt64
	Ordinal      int    // at most math.MaxInt32
	CustomID     string
	Text         string // at most domain.MaxChunkBytes long
	Context      string // domain.Chunk.Context; searched together with Text
	Heading      string
	Anchor       string // unescaped URL fragment of Heading in a web page
	Page         int
	Offset       int
	Runs         string         // result of domain.TextRuns.Encode; "" if unknown
	Metadata     map[string]any // filterable values: see Facets; not returned in hits
	Vector       []float32      // unit length, Space.Dimensions long
}

// Filter restricts a search before it runs. A row must match every field, but one of a field's values is enough. A nil
// slice does not filter; an empty non-nil slice matches nothing. Metadata maps a key to a string, number or boolean, or
// to a list of them; see Facets for the keys and values of a row.
type Filter struct {
	DatasourceIDs []string
	CustomIDs     []string
	Metadata      map[string]any
	// Where is a filter in the general filter grammar, or nil. A search fails with a filter.Error if Where cannot be
	// evaluated. Either a row of the space has a value that a condition cannot compare, or a row lacks data needed by a
	// condition, because an earlier version wrote it.
	Where *filter.Filter
}

// Query is a search of one space. If Text is empty, there is no lexical leg. If Vector is nil, there is no dense leg.
type Query struct {
	Text   string
	Rules  *analysis.Rules // synonyms and stop words for Text; nil: none
	Vector []float32
	Limit  int // candidates per leg, 1 to 10,000
	// VectorLimit is the number of candidates needed from the vector leg, at most Limit; 0 means Limit. An engine may
	// return more, up to Limit, if that is cheap.
	VectorLimit int
	Filter      Filter
	// Prepared may hold the result of the engine's Prepare for the same query, from before Vector was known. It only
	// makes the search faster and never changes its result. The engine ignores it if it belongs to another query or is
	// older than the last write.
	Prepared Prepared
}

// Prepared is opaque: only the engine that created it can use it.
type Prepared any

// Hit is a row found by a search. Both scores are exact for every hit, whichever leg found it.
//
// Only a few hits of a search are shown. So unless Complete is set, a hit has only the Key, DatasourceID, Generation
// and Ordinal of its row, and Fill reads the other fields. Hits never have a vector or metadata: results show the
// datasource's current metadata.
type Hit struct {
	Row
	Complete bool     // whether all fields of Row except Vector and Metadata are set
	Location uint64   // the engine's location of the row, for Fill
	Lexical  float64  // BM25; 0 if no term matches
	Dense    float64  // cosine similarity, -1 to 1; 0 if the query has no vector
	Terms    []string // analysed query terms in the row; hits may share the slice
	// Counts[i] is the number of occurrences of Terms[i], and Length is the total number of terms. In both, as in the
	// score, a word of the row's context counts bm25.ContextWeight times. They allow a caller to score several rows as
	// one document. Length may be 0 if the query has no Text.
	Counts []int
	Length int
}

// Result is the result of a search.
type Result struct {
	Hits []Hit // the best of both legs, each row once, in no particular order
	// MaxLexical is the upper bound of the BM25 score: the sum of weight·(k1+1) over the query's terms.
	// Lexical/MaxLexical is comparable between spaces and queries.
	MaxLexical float64
	// TermWeights holds the weight of each analysed query term in this space: its inverse document frequency, times
	// bm25.Repeated if the query repeats it. A term that occurs in no row has the highest weight, unless the query
	// repeats others.
	TermWeights map[string]float64
	// VectorLimit is the limit of the vector leg, between Query.VectorLimit and Query.Limit; 0 if there was no such
	// leg.
	VectorLimit int

	pooled *[]Hit // pooled memory of Hits, or nil
}

// Stored holds the number of stored rows in one generation of a datasource. Audits compare it with the catalog.
type Stored struct {
	DatasourceID string
	Generation   uint64
	Rows         int64
}

// Generations selects the generations From ≤ g < Below of a datasource. If DatasourceID is "", it selects those of
// every datasource in the space. From 0 and Below math.MaxUint64 select all generations.
type Generations struct {
	DatasourceID string
	From, Below  uint64
}

// Index is an engine for vector and text search. All methods are safe for concurrent use. The first Write creates a
// space; reading or searching a missing space finds nothing.
//
// Every search that starts after Write has returned finds the written rows, and these survive if the process is killed.
// The index returns rows of all generations; the caller must filter out inactive ones.
type Index interface {
	// Write stores rows and replaces rows with the same Key. When it returns nil, all rows are durable and visible.
	//
	// The embedded engine makes all rows of a call visible at the same moment. A server engine may show some rows
	// earlier, and store only some if the call fails or the process dies. This is harmless, because a generation
	// becomes active only when it is complete. If the same rows are written again, even concurrently, each row stays
	// visible exactly once. A server engine may keep internal copies of rows until their generation is removed. The
	// copies count as candidates of a search, which then finds fewer distinct rows.
	//
	// Write fails with ErrInvalid and stores nothing if any row is invalid. A vector must have the space's dimensions,
	// and texts must not be too long. A key must not be empty and may contain only the characters [A-Za-z0-9_.:-]. An
	// engine may require that the key is the chunk key.
	Write(ctx context.Context, space Space, rows []Row) error

	// Search returns the highest-ranking rows that match the filter: the best hits of the lexical search and the best
	// of the vector search.
	Search(ctx context.Context, space Space, q Query) (Result, error)

	// CountValues counts documents by the values of metadata keys. A document is represented by its row with ordinal 0.
	// It fails with a filter.Error in the same cases as Search.
	CountValues(ctx context.Context, space Space, q CountQuery) (Counts, error)

	// Fill reads the rows of hits from a Search of the space and sets Complete. It skips complete hits. If a row was
	// removed or replaced since the search, its hit stays unchanged.
	Fill(ctx context.Context, space Space, hits []*Hit) error

	// Rows returns up to `limit` rows of one generation of a datasource, with their vectors, sorted by Ordinal and
	// starting at fromOrdinal.
	Rows(ctx context.Context, space Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]Row, error)

	// Count returns the number of visible rows in one generation of a datasource. It is cheap, because it reads no
	// rows.
	Count(ctx context.Context, space Space, datasourceID string, generation uint64) (int64, error)

	// DeleteGenerations removes the rows of the given generations. The generations may overlap and may belong to
	// several datasources. Removing many in one call costs little more than removing one. Missing rows are not an
	// error. A failed call may have removed some of the rows.
	DeleteGenerations(ctx context.Context, space Space, which ...Generations) error

	// DropDatastore removes every space of the datastore.
	DropDatastore(ctx context.Context, datastoreID string) error

	// Spaces lists the spaces that may contain rows of the datastore. A space includes its dimensions, so rows can be
	// read and removed without asking the model, whose server may be unreachable or which may no longer be configured.
	// Spaces never written to are not listed; empty spaces may be.
	Spaces(ctx context.Context, datastoreID string) ([]Space, error)

	// Stored calls f for every generation of every datasource in the space, until f fails.
	Stored(ctx context.Context, space Space, f func(Stored) error) error

	// Ready returns nil if the engine can serve requests.
	Ready(ctx context.Context) error

	// Close closes the engine. Later calls fail with ErrClosed. It may be called twice.
	Close() error
}

// Errors returned by an Index. Use errors.Is to test for them.
var (
	ErrInvalid = errors.New("index: invalid row or query")
	ErrClosed  = errors.New("index: closed")
	// ErrCorrupt means that stored data does not match its checksum. To rebuild the space, index its content again.
	ErrCorrupt = errors.New("index: corrupt")
)
