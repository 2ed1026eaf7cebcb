package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/bm25"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
)

// Prepared is a validated and analysed row.
type Prepared struct {
	row      *index.Row
	metadata []byte
	lang     analysis.Language
	terms    lexical.Document // Terms and Facets are nil after the batch is inverted

	bits, int8 []byte // the vector's codes; nil if there are none
	epoch      int    // the codes' epoch
}

// Batch contains the rows from one call, prepared as far as possible before they have slots.
type Batch struct {
	Rows  []*Prepared // keys are distinct
	terms lexical.Inverted
}

// NewBatch returns a batch of rows with distinct keys. `words` is the vocabulary of the rows' Preparer.
func NewBatch(words *analysis.Batch, rows []*Prepared) *Batch {
	documents := make([]lexical.Document, len(rows))
	for i, p := range rows {
		documents[i] = p.terms
		p.terms.Terms, p.terms.Facets = nil, nil
	}
	return &Batch{Rows: rows, terms: lexical.Invert(words, documents)}
}

// Preparer validates and analyses rows. It is not safe for concurrent use.
type Preparer struct {
	dimensions int
	Words      *analysis.Batch // the rows' vocabulary
}

// NewPreparer returns a preparer for rows whose vectors have the given number of dimensions. 0 means no vectors.
func NewPreparer(dimensions int, words *analysis.Analyzer) *Preparer {
	return &Preparer{dimensions: dimensions, Words: words.Batch()}
}

// Prepare validates and analyses a row. It returns index.ErrInvalid if the row is invalid.
func (w *Preparer) Prepare(r *index.Row) (*Prepared, error) {
	if err := index.CheckRow(r, w.dimensions); err != nil {
		return nil, err
	}
	metadata, err := index.EncodeMetadata(r)
	if err != nil {
		return nil, err
	}
	p := &Prepared{row: r, metadata: metadata}
	p.lang, p.terms.Length, p.terms.Terms = w.Words.Count(analysis.Part{Text: r.Text, Weight: 1}, analysis.Part{Text: r.Context, Weight: bm25.ContextWeight})
	if page := analysis.PageTerm(r.Page); page != "" {
		p.terms.Terms = append(p.terms.Terms, analysis.TermCount{Term: w.Words.Name(page), Count: bm25.PageWeight})
	}
	filters, err := lexical.Facets(r)
	if err != nil {
		return nil, err
	}
	p.terms.Facets = make([]uint32, len(filters))
	for i, f := range filters {
		p.terms.Facets[i] = w.Words.Name(f)
	}
	return p, nil
}

// storedGeneration maps a generation to SQLite's signed integers. Flipping the top bit preserves the order.
func storedGeneration(g uint64) int64 { return int64(g ^ 1<<63) }

func loadedGeneration(v int64) uint64 { return uint64(v) ^ 1<<63 }

// storedRow is a row in the "rows" table.
type storedRow struct {
	index.Row
	slot     uint32
	heading  string // including the anchor: see index.StoredHeading
	length   int64
	lang     string
	metadata []byte
	sum      int64
}

// rowColumns lists the columns in the same order as storedRow.fields.
const rowColumns = `slot, key, datasource, generation, ordinal, length, lang, sum, page, start, custom_id, heading, context, metadata, text`

// fields returns pointers for scanning rowColumns.
func (s *storedRow) fields(generation *int64) []any {
	return []any{&s.slot, &s.Key, &s.DatasourceID, generation, &s.Ordinal, &s.length, &s.lang, &s.sum, &s.Page, &s.Offset,
		&s.CustomID, &s.heading, &s.Context, &s.metadata, &s.Text}
}

// checksum returns the checksum of all columns.
func (s *storedRow) checksum() int64 {
	var n [8]byte
	sum := uint32(0)
	number := func(v uint64) {
		binary.LittleEndian.PutUint64(n[:], v)
		sum = crc32.Update(sum, checksum.Table, n[:])
	}
	for _, v := range [...]uint64{uint64(s.slot), s.Generation, uint64(s.Ordinal), uint64(s.length), uint64(s.Page), uint64(s.Offset)} {
		number(v)
	}
	for _, v := range [...]string{s.Key, s.DatasourceID, s.lang, s.CustomID, s.heading, s.Context, s.Text} {
		number(uint64(len(v)))
		sum = crc32.Update(sum, checksum.Table, unsafe.Slice(unsafe.StringData(v), len(v))) // nothing modifies the string
	}
	return int64(crc32.Update(sum, checksum.Table, s.metadata))
}

// scanRow reads a row with the columns in rowColumns and verifies its checksum, without decoding the metadata.
func scanRow(scan func(...any) error) (*storedRow, error) {
	s := &storedRow{}
	var generation int64
	if err := scan(s.fields(&generation)...); err != nil {
		return nil, fmt.Errorf("reading a row: %w", err)
	}
	s.Generation = loadedGeneration(generation)
	if s.sum != s.checksum() {
		return nil, fmt.Errorf("%w: the row in slot %d does not match its checksum", index.ErrCorrupt, s.slot)
	}
	s.SetHeading(s.heading)
	return s, nil
}

func (s *storedRow) decodeMetadata() error {
	if len(s.metadata) == 0 {
		return nil
	}
	if err := json.Unmarshal(s.metadata, &s.Metadata); err != nil {
		return fmt.Errorf("%w: reading metadata of the row in slot %d: %w", index.ErrCorrupt, s.slot, err)
	}
	return nil
}
