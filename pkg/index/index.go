// Package index is the contract between Sluice and the engines that hold chunks: rows go in by generation, hits
// come out with the scores of both legs. Package indextest is the suite that every engine passes.
package index

import (
	"context"
	"errors"
)

// Space names where rows live: one datastore, embedded by one model. Rows of different spaces never mix.
type Space struct {
	DatastoreID string
	Model       string // embedding model id
	Dimensions  int    // of Row.Vector and Query.Vector; 0 for a space without vectors
}

// Row is one chunk of one generation of a datasource.
type Row struct {
	Key          string // domain.ChunkKey of the three fields that follow: unique in the space
	DatasourceID string
	Generation   uint64 // at most math.MaxInt64
	Ordinal      int    // at most math.MaxInt32
	CustomID     string
	Text         string // returned; at most domain.MaxChunkBytes
	Context      string // title and heading path: searched with Text, weighs in the ranking
	Heading      string
	Anchor       string // the fragment, unescaped, that leads to Heading in the address of a web page
	Page         int
	Offset       int
	Metadata     map[string]any // what of it can be filtered: see Facets; not told of hits
	Vector       []float32      // unit length, Space.Dimensions long
}

// Filter narrows a search before it runs. Values of one field are alternatives, fields must all match. A nil
// slice does not filter; an empty non-nil slice matches nothing. Metadata asks for a string, number or boolean by its key,
// or for any of a list of them; see Facets for what matches.
type Filter struct {
	DatasourceIDs []string
	CustomIDs     []string
	Metadata      map[string]any
}

// Query asks one space. Either leg may be missing: an empty Text or a nil Vector.
type Query struct {
	Text   string
	Vector []float32
	Limit  int // candidates per leg, 1 to 10,000
	Filter Filter
	// Prepared is what the engine has prepared for the same query before its Vector was there; nil: nothing. What was prepared for
	// another one, or has been overtaken by a write since, is left aside: it changes no result.
	Prepared Prepared
}

// Prepared is of the engine that has made it, and of no use to anybody else.
type Prepared any

// Hit is a row that a search found. Both scores are exact for every hit, whichever leg found it.
//
// A search has many hits of which few are shown. So of a hit's row only Key, DatasourceID, Generation and Ordinal are told,
// unless Whole says that all of it was at hand; Fill reads the rest. The vector of a hit is never told, nor are its metadata:
// readers see what its datasource has now.
type Hit struct {
	Row
	Whole   bool     // all fields of Row but Vector and Metadata are filled
	Place   uint64   // where the engine has the row: Fill's business alone
	Lexical float64  // BM25, 0 when no term matches
	Dense   float64  // cosine similarity, -1 to 1; 0 when the query had no vector
	Terms   []string // analysed query terms that the row contains; other hits may share them
	// Counts holds how often the row has each of Terms, and Length how many terms it has in all, its context's weighed as
	// in Lexical. Documents are compared as wholes by them. Length may be 0 when the query had no Text.
	Counts []int
	Length int
}

// Result is what a search returns.
type Result struct {
	Hits []Hit // the union of both legs' best, no row twice, in no promised order
	// MaxLexical is the BM25 score of a hypothetical row that matches every query term with saturated frequency:
	// the sum over the query's terms of idf·(k1+1). Lexical/MaxLexical is comparable between spaces and queries.
	MaxLexical float64
	// TermWeights holds each analysed query term's inverse document frequency in this space. A term that no row has
	// carries the highest weight.
	TermWeights map[string]float64

	room *[]Hit // that Hits are part of; nil when that is not to be given back
}

// Stored counts the rows of one generation of a datasource: what an audit compares with the catalog.
type Stored struct {
	DatasourceID string
	Generation   uint64
	Rows         int64
}

// Generations names generations From ≤ g < Below of a datasource, or with DatasourceID "" of every datasource of a space;
// 0 and math.MaxUint64 mean all of them.
type Generations struct {
	DatasourceID string
	From, Below  uint64
}

// Index is a vector and text engine. All methods are safe for concurrent use. A space needs no creation: the first
// Write makes it, and reading one that does not exist finds nothing.
//
// Rows written are found by every search that starts after Write has returned, and survive a kill of the process.
// Visibility of generations is the caller's business: the index returns rows of every generation it holds.
type Index interface {
	// Write stores rows, replacing those whose Key exists. When it returns without error all of them are durable and visible.
	// The embedded engine makes the rows of a call visible together; an engine on a server may show some before others and,
	// when the call fails or the process dies, keep a part: rows are for readers only once a whole generation is active.
	// Writing the same rows again, one after another or at the same moment, shows each of them once and hides none of them
	// in between; copies that an engine keeps inside until the generation is removed may cost candidates of a search. It
	// fails with ErrInvalid, and stores nothing, when a vector has another length than the space, a text is too large, or a
	// key is empty, outside [A-Za-z0-9_.:-] or, where an engine relies on it, not the chunk's own.
	Write(ctx context.Context, space Space, rows []Row) error

	// Search returns the best rows of each leg under the filter.
	Search(ctx context.Context, space Space, q Query) (Result, error)

	// Fill reads the rows of hits that Search has found in the space, but those that are whole. Those whose row is still
	// there are whole after it; of the others, which were removed or replaced since, no field is changed.
	Fill(ctx context.Context, space Space, hits []*Hit) error

	// Rows returns up to limit rows of one generation of a datasource from an ordinal on, in order of Ordinal, with
	// their vectors: for showing chunks, neighbours of a hit, and copying vectors of unchanged text.
	Rows(ctx context.Context, space Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]Row, error)

	// Count returns how many rows of one generation of a datasource the space holds, as a search that starts now would
	// find them. It is cheap: it reads no row.
	Count(ctx context.Context, space Space, datasourceID string, generation uint64) (int64, error)

	// DeleteGenerations removes the rows of generations of any number of datasources, which may overlap. Many in one call
	// cost little more than one. Removing what is not there is no error. A call that fails may have removed a part.
	DeleteGenerations(ctx context.Context, space Space, which ...Generations) error

	// DropDatastore removes every space of the datastore.
	DropDatastore(ctx context.Context, datastoreID string) error

	// Spaces lists the spaces that may hold rows of the datastore, with their dimensions. So what is stored can be read,
	// counted and removed while no server tells what a model's dimensions are, and when the model is no longer configured.
	// A space that was never written is not among them; one that has become empty may be.
	Spaces(ctx context.Context, datastoreID string) ([]Space, error)

	// Stored calls f for every generation of every datasource in the space, until f fails.
	Stored(ctx context.Context, space Space, f func(Stored) error) error

	// Ready reports whether the engine can serve.
	Ready(ctx context.Context) error

	// Close releases the engine; calls after it fail with ErrClosed. It may be called twice.
	Close() error
}

// Errors of an Index, to be tested with errors.Is.
var (
	ErrInvalid = errors.New("index: invalid row or query")
	ErrClosed  = errors.New("index: closed")
	// ErrCorrupt says that what lies on disk does not match its checksum; the space must be rebuilt by replay.
	ErrCorrupt = errors.New("index: corrupt")
)
