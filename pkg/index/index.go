// Package index defines the interface between Sluice and the engines that store chunks. Engines write rows by
// generation, and their searches return hits with lexical and dense scores. Package indextest is the conformance suite
// for engines.
package index

import (
	"context"
	"errors"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/filter"
)

// Space identifies a set of rows: those in one datastore, with vectors from one model. Rows from different spaces are
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

// Filter restricts a search to matching rows before it runs. A row must match every field; within a field, one of the
// values is enough. A nil slice does not filter, and an empty non-nil slice matches nothing. Metadata maps a key to a
// string, number or boolean, or to a list of them. See Facets for a row's keys and values.
type Filter struct {
	DatasourceIDs []string
	CustomIDs     []string
	Metadata      map[string]any
	// Where is a filter in the general filter grammar, or nil. A search fails with a filter.Error if Where can't be
	// evaluated: if any row in the space has a value that a condition can't be compared with, or if a row written by an
	// earlier version lacks data that a condition needs.
	Where *filter.Filter
}

// Query is a search in one space. It has no lexical leg if Text is empty, and no dense leg if Vector is nil.
type Query struct {
	Text   string
	Rules  *analysis.Rules // synonyms and stop words for Text; nil means none
	Vector []float32
	Limit  int // candidates per leg, 1 to 10,000
	// VectorLimit is the number of candidates from the vector leg, at most Limit; 0 means Limit. An engine may return
	// more, up to Limit, if that's cheap.
	VectorLimit int
	Filter      Filter
	// Prepared optionally holds the result of the engine's Prepare, called for the same query before Vector was known. It
	// only makes the search faster, and the engine ignores it if it's for another query or older than the last write.
	Prepared Prepared
}

// Prepared is opaque: only the engine that created it can use it.
type Prepared any

// Hit is a row found by a search. Both scores are exact, no matter which leg found the row.
//
// Most hits are never shown, so until Complete is set, a hit has only its row's Key, DatasourceID, Generation and
// Ordinal; Fill reads the other fields. Hits never have a vector or metadata, because results show the datasource's
// current metadata.
type Hit struct {
	Row
	Complete bool     // all fields of Row except Vector and Metadata are set
	Location uint64   // the engine's location of the row, for Fill
	Lexical  float64  // BM25; 0 if no term matches
	Dense    float64  // cosine similarity, -1 to 1; 0 if the query has no vector
	Terms    []string // analysed query terms in the row; hits may share a slice
	// Counts[i] is the number of occurrences of Terms[i], and Length is the total number of terms. As in the score, a word
	// in the row's context counts bm25.ContextWeight times. A caller needs Counts and Length to score several rows as one
	// document. Length may be 0 if the query has no Text.
	Counts []int
	Length int
}

// Result is the result of a search.
type Result struct {
	Hits []Hit // best hits of both legs, each row once, in no particular order
	// MaxLexical is the upper bound of the BM25 score: the sum of weight·(k1+1) over the query's terms. Lexical/MaxLexical
	// is comparable across spaces and queries.
	MaxLexical float64
	// TermWeights maps each analysed query term to its weight in this space: the inverse document frequency, times
	// bm25.Repeated if the query repeats the term. Terms that occur in no row have the highest weight, unless the query
	// repeats other terms.
	TermWeights map[string]float64
	// VectorLimit is the limit the vector leg used, between Query.VectorLimit and Query.Limit, or 0 if there was no vector
	// leg.
	VectorLimit int

	pooled *[]Hit // backs Hits; nil if not pooled
}

// Stored is the number of rows stored for one generation of a datasource. Audits compare it with the catalog.
type Stored struct {
	DatasourceID string
	Generation   uint64
	Rows         int64
}

// Generations selects a datasource's generations From ≤ g < Below. If DatasourceID is "", it selects those of every
// datasource in the space. To select all generations, set From to 0 and Below to math.MaxUint64.
type Generations struct {
	DatasourceID string
	From, Below  uint64
}

// Index is an engine for vector and text search. All methods are safe for concurrent use. The first Write creates a
// space; a missing space reads as empty.
//
// Searches that start after Write returns find the written rows, which survive even if the process is killed. The index
// returns rows from all generations, so the caller must filter out inactive ones.
type Index interface {
	// Write stores rows and replaces rows with the same Key. When it returns nil, all rows are durable and visible.
	//
	// The embedded engine makes all rows in a call visible at the same moment. A server engine may show some rows earlier,
	// and may store only some of them if the call fails or the process dies. This is harmless, because a generation
	// becomes active only when it is complete. If the same rows are written again, even concurrently, each row stays
	// visible exactly once. A server engine may keep internal copies of rows until their generation is removed. The copies
	// count as search candidates, so the search finds fewer distinct rows.
	//
	// Write returns ErrInvalid and stores nothing if any row is invalid. A vector must have the space's dimensions, and
	// texts must not be too long. A key must not be empty and may contain only the characters [A-Za-z0-9_.:-]. An engine
	// may require that the key is the chunk key.
	Write(ctx context.Context, space Space, rows []Row) error

	// Search returns the best-ranked rows that match the filter, both from the lexical search and from the vector search.
	Search(ctx context.Context, space Space, q Query) (Result, error)

	// CountValues counts documents by the values of metadata keys. The row with ordinal 0 stands for the whole document.
	// It returns a filter.Error in the same cases as Search.
	CountValues(ctx context.Context, space Space, q CountQuery) (Counts, error)

	// Fill reads the rows of hits from an earlier search of the space and sets Complete. It skips complete hits, and hits
	// whose row has been removed or replaced since the search.
	Fill(ctx context.Context, space Space, hits []*Hit) error

	// Rows returns up to `limit` rows from one generation of a datasource, with their vectors. They are sorted by Ordinal
	// and start at fromOrdinal.
	Rows(ctx context.Context, space Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]Row, error)

	// Count returns the number of visible rows in one generation of a datasource. It is cheap because it does not read the
	// rows.
	Count(ctx context.Context, space Space, datasourceID string, generation uint64) (int64, error)

	// DeleteGenerations removes all rows in the given generations, which may overlap and may belong to several
	// datasources. Removing many in one call costs little more than removing one. Missing rows are not an error. A failed
	// call may have removed some of the rows.
	DeleteGenerations(ctx context.Context, space Space, which ...Generations) error

	// DropDatastore removes every space of the datastore.
	DropDatastore(ctx context.Context, datastoreID string) error

	// Spaces lists the spaces that may contain rows of the datastore. The result includes the dimensions, so that rows can
	// be read and removed even if their model is unreachable or no longer configured. Spaces never written to are not
	// listed, but empty ones may be.
	Spaces(ctx context.Context, datastoreID string) ([]Space, error)

	// Stored calls f for every generation of every datasource in the space. It stops if f returns an error.
	Stored(ctx context.Context, space Space, f func(Stored) error) error

	// Ready returns nil if the engine can serve requests.
	Ready(ctx context.Context) error

	// Close closes the engine. Later calls return ErrClosed. Close may be called twice.
	Close() error
}

// Errors returned by an Index. Use errors.Is to test for them.
var (
	ErrInvalid = errors.New("index: invalid row or query")
	ErrClosed  = errors.New("index: closed")
	// ErrCorrupt means that stored data does not match its checksum. To rebuild the space, re-index its content.
	ErrCorrupt = errors.New("index: corrupt")
)
