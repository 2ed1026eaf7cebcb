package milvus

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// ErrSchema says that a collection was not made by this version of the program.
var ErrSchema = errors.New("milvus: the collection has a schema that this version does not know")

// Fields of a collection.
const (
	fieldID         = "id"         // primary key, see rowID
	fieldDatastore  = "datastore"  // partition key
	fieldDatasource = "datasource" //
	fieldGeneration = "generation" //
	fieldOrdinal    = "ordinal"    //
	fieldBucket     = "bucket"     // 0 to buckets-1, by chance: a share of the buckets is a sample of the rows
	fieldCustomID   = "custom_id"
	fieldPage       = "page"
	fieldOffset     = "text_offset"
	fieldHeading    = "heading"
	fieldContext    = "context"
	fieldText       = "text"
	fieldMetadata   = "metadata"
	fieldFacets     = "facets"       // hashes of what can be filtered, see filter.go
	fieldLanguage   = "language"     // as analysis.Detect told it
	fieldLength     = "terms_length" // terms of text and context, weighed
	fieldDigest     = "digest"       // hash of the whole row
	fieldDense      = "dense"
	fieldSparse     = "sparse" // missing where the server cannot
)

// Bounds of fields.
const (
	maxDatastoreBytes  = 64
	maxDatasourceBytes = 128
	maxIDBytes         = 256
	maxFacets          = 4096 // more than index.MaxFacets and a custom id
	buckets            = 1 << 16
	// minDenseDimensions is what servers ask of a vector field; vectors of fewer dimensions are padded with zeros.
	minDenseDimensions = 2
)

// schema describes a space's collection.
func schema(name string, s index.Space, sparse bool) *schemapb.CollectionSchema {
	text := func(name string, bytes int) *schemapb.FieldSchema {
		return &schemapb.FieldSchema{Name: name, DataType: schemapb.DataType_VarChar, TypeParams: pairs("max_length", strconv.Itoa(bytes))}
	}
	number := func(name string) *schemapb.FieldSchema {
		return &schemapb.FieldSchema{Name: name, DataType: schemapb.DataType_Int64}
	}
	id, datastore := text(fieldID, maxIDBytes), text(fieldDatastore, maxDatastoreBytes)
	id.IsPrimaryKey, datastore.IsPartitionKey = true, true
	out := &schemapb.CollectionSchema{Name: name, Description: about{schemaVersion, s.Model, s.Dimensions}.String(), Fields: []*schemapb.FieldSchema{
		id, datastore, text(fieldDatasource, maxDatasourceBytes),
		number(fieldGeneration), number(fieldOrdinal), number(fieldBucket), number(fieldPage), number(fieldOffset),
		text(fieldCustomID, index.MaxNameBytes),
		text(fieldHeading, domain.MaxChunkBytes),
		text(fieldContext, domain.MaxChunkBytes),
		text(fieldText, domain.MaxChunkBytes),
		{Name: fieldMetadata, DataType: schemapb.DataType_JSON},
		{Name: fieldFacets, DataType: schemapb.DataType_Array, ElementType: schemapb.DataType_Int64, TypeParams: pairs("max_capacity", strconv.Itoa(maxFacets))},
		text(fieldLanguage, 16), number(fieldLength), number(fieldDigest),
		{Name: fieldDense, DataType: schemapb.DataType_FloatVector, TypeParams: pairs("dim", strconv.Itoa(denseDimensions(s)))},
	}}
	if sparse {
		out.Fields = append(out.Fields, &schemapb.FieldSchema{Name: fieldSparse, DataType: schemapb.DataType_SparseFloatVector})
	}
	return out
}

func denseDimensions(s index.Space) int { return max(s.Dimensions, minDenseDimensions) }

// checkSchema reports whether a collection is one of ours, of this version.
func checkSchema(got *schemapb.CollectionSchema) (about, error) {
	var a about
	if err := json.Unmarshal([]byte(got.GetDescription()), &a); err != nil || a.Schema == 0 {
		return a, fmt.Errorf("%w: %q is described as %.100q, which Sluice never writes", ErrSchema, got.GetName(), got.GetDescription())
	}
	if a.Schema != schemaVersion {
		return a, fmt.Errorf("%w: %q has schema %d, this version has %d; run the version that made it, or drop it and replay",
			ErrSchema, got.GetName(), a.Schema, schemaVersion)
	}
	for _, want := range schema("", index.Space{}, false).Fields {
		if !slices.ContainsFunc(got.GetFields(), func(f *schemapb.FieldSchema) bool {
			return f.GetName() == want.GetName() && f.GetDataType() == want.GetDataType()
		}) {
			return a, fmt.Errorf("%w: %q lacks the field %q, or has it with another type", ErrSchema, got.GetName(), want.GetName())
		}
	}
	return a, nil
}

// hasSparse reports whether a collection was made with sparse vectors.
func hasSparse(s *schemapb.CollectionSchema) bool {
	return slices.ContainsFunc(s.GetFields(), func(f *schemapb.FieldSchema) bool { return f.GetName() == fieldSparse })
}
