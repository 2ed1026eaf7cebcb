package milvus

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// columns lays rows out as the server takes them.
func columns(s index.Space, rows []*prepared, sparse bool) []*schemapb.FieldData {
	text := func(name string, f func(*prepared) string) *schemapb.FieldData {
		return varChars(name, each(rows, f))
	}
	number := func(name string, f func(*prepared) int64) *schemapb.FieldData {
		return int64s(name, each(rows, f))
	}
	out := []*schemapb.FieldData{
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
		jsons(fieldMetadata, each(rows, func(p *prepared) []byte { return p.metadata })),
		int64Arrays(fieldFacets, each(rows, func(p *prepared) []int64 { return p.facets })),
		text(fieldLanguage, func(p *prepared) string { return string(p.language) }),
		number(fieldLength, func(p *prepared) int64 { return p.length }),
		number(fieldDigest, func(p *prepared) int64 { return p.digest }),
		floatVectors(fieldDense, denseDimensions(s), each(rows, func(p *prepared) []float32 { return p.vector })),
	}
	if sparse {
		out = append(out, sparseVectors(fieldSparse, each(rows, func(p *prepared) sparseVector {
			return p.terms.saturated(storedNorm(p.length, p.language)).stored()
		})))
	}
	return out
}

func each[T any](rows []*prepared, f func(*prepared) T) []T {
	out := make([]T, len(rows))
	for i, p := range rows {
		out[i] = f(p)
	}
	return out
}

// table reads the columns of an answer; its first fault is kept, so that it is looked at once.
type table struct {
	set answer
	err error
}

func (t *table) texts(name string) []string {
	d, ok := t.set.column(name).GetScalars().GetData().(*schemapb.ScalarField_StringData)
	if !ok {
		t.fail(name)
		return nil
	}
	return whole(t, name, d.StringData.GetData())
}

func (t *table) numbers(name string) []int64 {
	d, ok := t.set.column(name).GetScalars().GetData().(*schemapb.ScalarField_LongData)
	if !ok {
		t.fail(name)
		return nil
	}
	return whole(t, name, d.LongData.GetData())
}

func (t *table) documents(name string) [][]byte {
	d, ok := t.set.column(name).GetScalars().GetData().(*schemapb.ScalarField_JsonData)
	if !ok {
		t.fail(name)
		return nil
	}
	return whole(t, name, d.JsonData.GetData())
}

func (t *table) vectors(name string) [][]float32 {
	field := t.set.column(name).GetVectors()
	d, ok := field.GetData().(*schemapb.VectorField_FloatVector)
	if !ok || field.GetDim() < 1 {
		t.fail(name)
		return nil
	}
	return whole(t, name, slices.Collect(slices.Chunk(d.FloatVector.GetData(), int(field.GetDim()))))
}

func (t *table) sparse(name string) []sparseVector {
	d, ok := t.set.column(name).GetVectors().GetData().(*schemapb.VectorField_SparseFloatVector)
	if !ok {
		t.fail(name)
		return nil
	}
	out := make([]sparseVector, len(d.SparseFloatVector.GetContents()))
	for i, v := range d.SparseFloatVector.GetContents() {
		out[i] = v
	}
	return whole(t, name, out)
}

// whole checks that a column has a value for every row.
func whole[T any](t *table, name string, column []T) []T {
	if len(column) != t.set.rows() {
		t.fail(name)
	}
	return column
}

func (t *table) fail(name string) {
	if t.err == nil {
		t.err = fmt.Errorf("the server's answer has no column %q of the type asked for, with a value for each row", name)
	}
}

// rowFields are the fields that make up an index.Row, without its vector and metadata.
var rowFields = []string{fieldID, fieldDatasource, fieldGeneration, fieldOrdinal, fieldPage, fieldOffset, fieldCustomID, fieldHeading, fieldContext, fieldText}

// found is a row as it was read.
type found struct {
	index.Row
	id       string
	language analysis.Language
	length   int64
	terms    sparseVector // nil unless asked for
}

// more are the fields of an answer beside rowFields.
type more struct {
	vectors  bool
	metadata bool
	scored   bool // what scoring needs
	sparse   bool // the terms, where the server has them
}

func (m more) fields() []string {
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

// readRows makes rows of an answer.
func readRows(set answer, dimensions int, has more) ([]found, error) {
	if set.rows() == 0 {
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
	var terms []sparseVector
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
	out := make([]found, len(ids))
	for i := range out {
		f := found{id: ids[i], Row: index.Row{
			DatasourceID: sources[i], Generation: uint64(generations[i]), Ordinal: int(ordinals[i]), CustomID: customs[i],
			Text: texts[i], Context: contexts[i], Page: int(pages[i]), Offset: int(offsets[i]),
		}}
		f.SetHeading(headings[i])
		f.Key = domain.ChunkKey(f.DatasourceID, f.Generation, f.Ordinal)
		if has.metadata && len(metadata[i]) > len("{}") {
			if err := json.Unmarshal(metadata[i], &f.Metadata); err != nil {
				return nil, fmt.Errorf("%w: reading the metadata of row %q: %w", index.ErrCorrupt, f.id, err)
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
