package milvus

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lists"
)

// columns converts rows to Milvus columns.
func columns(s index.Space, rows []*prepared, sparse bool) ([]entity.Column, error) {
	text := func(name string, f func(*prepared) string) entity.Column {
		return entity.NewColumnVarChar(name, lists.Map(rows, f))
	}
	number := func(name string, f func(*prepared) int64) entity.Column {
		return entity.NewColumnInt64(name, lists.Map(rows, f))
	}
	out := []entity.Column{
		text(fieldID, func(p *prepared) string { return p.id }),
		text(fieldDatastore, func(*prepared) string { return s.DatastoreID }),
		text(fieldDatasource, func(p *prepared) string { return p.row.DatasourceID }),
		number(fieldGeneration, func(p *prepared) int64 { return int64(p.row.Generation) }),
		number(fieldOrdinal, func(p *prepared) int64 { return int64(p.row.Ordinal) }),
		number(fieldBucket, func(p *prepared) int64 { return bucket(p.id) }),
		number(fieldPage, func(p *prepared) int64 { return int64(p.row.Page) }),
		number(fieldOffset, func(p *prepared) int64 { return int64(p.row.Offset) }),
		text(fieldCustomID, func(p *prepared) string { return p.row.CustomID }),
		text(fieldHeading, func(p *prepared) string { return index.StoredHeading(p.row) }),
		text(fieldContext, func(p *prepared) string { return p.row.Context }),
		text(fieldText, func(p *prepared) string { return p.row.Text }),
		entity.NewColumnJSONBytes(fieldMetadata, lists.Map(rows, func(p *prepared) []byte { return p.metadata })),
		entity.NewColumnInt64Array(fieldFacets, lists.Map(rows, func(p *prepared) []int64 { return p.facets })),
		text(fieldLanguage, func(p *prepared) string { return string(p.language) }),
		number(fieldLength, func(p *prepared) int64 { return p.length }),
		number(fieldDigest, func(p *prepared) int64 { return p.digest }),
		entity.NewColumnFloatVector(fieldDense, denseDimensions(s), lists.Map(rows, func(p *prepared) []float32 { return p.vector })),
	}
	if !sparse {
		return out, nil
	}
	vectors := make([]entity.SparseEmbedding, len(rows))
	for i, p := range rows {
		var err error
		if vectors[i], err = p.terms.saturated(storedNorm(p.length, p.language)).stored(); err != nil {
			return nil, fmt.Errorf("encoding the terms of row %q: %w", p.id, err)
		}
	}
	return append(out, entity.NewColumnSparseVectors(fieldSparse, vectors)), nil
}

// table reads a response's columns. It keeps the first error, so one check at the end is enough.
type table struct {
	set client.ResultSet
	err error
}

func (t *table) texts(name string) []string {
	if c, ok := t.set.GetColumn(name).(*entity.ColumnVarChar); ok {
		return c.Data()
	}
	t.fail(name)
	return nil
}

func (t *table) numbers(name string) []int64 {
	if c, ok := t.set.GetColumn(name).(*entity.ColumnInt64); ok {
		return c.Data()
	}
	t.fail(name)
	return nil
}

func (t *table) documents(name string) [][]byte {
	if c, ok := t.set.GetColumn(name).(*entity.ColumnJSONBytes); ok {
		return c.Data()
	}
	t.fail(name)
	return nil
}

func (t *table) vectors(name string) [][]float32 {
	if c, ok := t.set.GetColumn(name).(*entity.ColumnFloatVector); ok {
		return c.Data()
	}
	t.fail(name)
	return nil
}

func (t *table) sparse(name string) []entity.SparseEmbedding {
	if c, ok := t.set.GetColumn(name).(*entity.ColumnSparseFloatVector); ok {
		return c.Data()
	}
	t.fail(name)
	return nil
}

func (t *table) fail(name string) {
	if t.err == nil {
		t.err = fmt.Errorf("the server's answer has no column %q of the requested type", name)
	}
}

// rowFields are the fields of an index.Row, without its vector and metadata.
var rowFields = []string{fieldID, fieldDatasource, fieldGeneration, fieldOrdinal, fieldPage, fieldOffset, fieldCustomID, fieldHeading, fieldContext, fieldText}

// storedRow is a row read from the server.
type storedRow struct {
	index.Row
	id       string
	language analysis.Language
	length   int64
	terms    entity.SparseEmbedding // nil unless requested
}

// extraFields selects fields in addition to rowFields.
type extraFields struct {
	vectors  bool
	metadata bool
	scored   bool // the fields needed for scoring
	sparse   bool // the terms, if the server has sparse vectors
}

func (m extraFields) fields() []string {
	out := slices.Clone(rowFields)
	if m.vectors {
		out = append(out, fieldDense)
	}
	if m.metadata {
		out = append(out, fieldMetadata)
	}
	if m.scored {
		out = append(out, fieldLanguage, fieldLength)
	}
	if m.sparse {
		out = append(out, fieldSparse)
	}
	return out
}

// readRows converts a response to rows.
func readRows(set client.ResultSet, dimensions int, has extraFields) ([]storedRow, error) {
	if set.Len() == 0 {
		return nil, nil
	}
	t := &table{set: set}
	ids, sources, generations, ordinals := t.texts(fieldID), t.texts(fieldDatasource), t.numbers(fieldGeneration), t.numbers(fieldOrdinal)
	pages, offsets, customs, headings := t.numbers(fieldPage), t.numbers(fieldOffset), t.texts(fieldCustomID), t.texts(fieldHeading)
	contexts, texts := t.texts(fieldContext), t.texts(fieldText)
	var dense [][]float32
	var metadata [][]byte
	var languages []string
	var lengths []int64
	var terms []entity.SparseEmbedding
	if has.vectors {
		dense = t.vectors(fieldDense)
	}
	if has.metadata {
		metadata = t.documents(fieldMetadata)
	}
	if has.scored {
		languages, lengths = t.texts(fieldLanguage), t.numbers(fieldLength)
	}
	if has.sparse {
		terms = t.sparse(fieldSparse)
	}
	if t.err != nil {
		return nil, t.err
	}
	out := make([]storedRow, len(ids))
	for i := range out {
		f := storedRow{id: ids[i], Row: index.Row{
			DatasourceID: sources[i], Generation: uint64(generations[i]), Ordinal: int(ordinals[i]), CustomID: customs[i],
			Text: texts[i], Context: contexts[i], Page: int(pages[i]), Offset: int(offsets[i]),
		}}
		f.SetHeading(headings[i])
		f.Key = domain.ChunkKey(f.DatasourceID, f.Generation, f.Ordinal)
		if has.metadata {
			var err error
			if f.Metadata, err = decodeMetadata(f.id, metadata[i]); err != nil {
				return nil, err
			}
		}
		if has.vectors && dimensions > 0 {
			f.Vector = dense[i][:dimensions:dimensions]
		}
		if has.scored {
			f.language, f.length = analysis.Language(languages[i]), lengths[i]
		}
		if has.sparse {
			f.terms = terms[i]
		}
		out[i] = f
	}
	return out, nil
}

// decodeMetadata returns a row's metadata without addOrder's values.
func decodeMetadata(id string, data []byte) (out map[string]any, err error) {
	if len(data) <= len("{}") {
		return nil, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("%w: reading the metadata of row %q: %w", index.ErrCorrupt, id, err)
	}
	delete(out, orderKey)
	return out, nil
}
