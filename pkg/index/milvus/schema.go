package milvus

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// ErrSchema means that a collection has a different schema version or was created by another program.
var ErrSchema = errors.New("milvus: the collection has an unknown schema")

// Fields in a collection.
const (
	fieldID         = "id"        // primary key; see rowID
	fieldDatastore  = "datastore" // partition key
	fieldDatasource = "datasource"
	fieldGeneration = "generation"
	fieldOrdinal    = "ordinal"
	fieldBucket     = "bucket" // pseudo-random, 0 to buckets-1, for sampling rows by bucket
	fieldCustomID   = "custom_id"
	fieldPage       = "page"
	fieldOffset     = "text_offset"
	fieldHeading    = "heading"
	fieldContext    = "context"
	fieldText       = "text"
	fieldMetadata   = "metadata"
	fieldFacets     = "facets"       // hashes of the filterable values; see filter.go
	fieldLanguage   = "language"     // result of analysis.Detect
	fieldLength     = "terms_length" // weighted number of terms in text and context
	fieldDigest     = "digest"       // hash of the whole row
	fieldDense      = "dense"
	fieldSparse     = "sparse" // missing if the server does not support sparse vectors
)

// Field limits.
const (
	maxDatastoreBytes  = 64
	maxDatasourceBytes = 128
	maxIDBytes         = 256
	maxFacets          = 4096 // enough for index.MaxFacets values and a custom id
	buckets            = 1 << 16
	// Minimum number of dimensions of a vector field. Shorter vectors are zero-padded.
	minDenseDimensions = 2
)

// schema returns the schema of a space's collection.
func schema(name string, s index.Space, sparse bool) *entity.Schema {
	text := func(name string, bytes int64) *entity.Field {
		return entity.NewField().WithName(name).WithDataType(entity.FieldTypeVarChar).WithMaxLength(bytes)
	}
	number := func(name string) *entity.Field {
		return entity.NewField().WithName(name).WithDataType(entity.FieldTypeInt64)
	}
	out := entity.NewSchema().WithName(name).WithDescription(description{schemaVersion, s.Model, s.Dimensions}.String())
	for _, f := range []*entity.Field{
		text(fieldID, maxIDBytes).WithIsPrimaryKey(true),
		text(fieldDatastore, maxDatastoreBytes).WithIsPartitionKey(true),
		text(fieldDatasource, maxDatasourceBytes),
		number(fieldGeneration), number(fieldOrdinal), number(fieldBucket), number(fieldPage), number(fieldOffset),
		text(fieldCustomID, index.MaxNameBytes),
		text(fieldHeading, domain.MaxChunkBytes),
		text(fieldContext, domain.MaxChunkBytes),
		text(fieldText, domain.MaxChunkBytes),
		entity.NewField().WithName(fieldMetadata).WithDataType(entity.FieldTypeJSON),
		entity.NewField().WithName(fieldFacets).WithDataType(entity.FieldTypeArray).WithElementType(entity.FieldTypeInt64).WithMaxCapacity(maxFacets),
		text(fieldLanguage, 16), number(fieldLength), number(fieldDigest),
		entity.NewField().WithName(fieldDense).WithDataType(entity.FieldTypeFloatVector).WithDim(int64(denseDimensions(s))),
	} {
		out.WithField(f)
	}
	if sparse {
		out.WithField(entity.NewField().WithName(fieldSparse).WithDataType(entity.FieldTypeSparseVector))
	}
	return out
}

func denseDimensions(s index.Space) int { return max(s.Dimensions, minDenseDimensions) }

// checkSchema returns a collection's description, or ErrSchema if the collection's schema is not this version's.
func checkSchema(got *entity.Schema) (description, error) {
	var a description
	if err := json.Unmarshal([]byte(got.Description), &a); err != nil || a.Schema == 0 {
		return a, fmt.Errorf("%w: %q has the description %.100q, which Sluice did not write", ErrSchema, got.CollectionName, got.Description)
	}
	if a.Schema != schemaVersion {
		return a, fmt.Errorf("%w: %q has schema %d, but this version needs %d; use the version that created it, or drop the collection and run sluice replay",
			ErrSchema, got.CollectionName, a.Schema, schemaVersion)
	}
	for _, want := range schema("", index.Space{}, false).Fields {
		if !slices.ContainsFunc(got.Fields, func(f *entity.Field) bool { return f.Name == want.Name && f.DataType == want.DataType }) {
			return a, fmt.Errorf("%w: %q has no field %q, or the field has a different type", ErrSchema, got.CollectionName, want.Name)
		}
	}
	return a, nil
}

// hasSparse reports whether a collection has sparse vectors.
func hasSparse(s *entity.Schema) bool {
	return slices.ContainsFunc(s.Fields, func(f *entity.Field) bool { return f.Name == fieldSparse })
}
