package milvus

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// consistency is the time up to which a read must have seen what was written.
type consistency uint64

const (
	strong   consistency = 0 // everything that was written before the read
	eventual consistency = 1 // what the node has seen so far, without waiting
)

// everything is the most rows that servers answer. Without a limit, Milvus 2.3 counts copies of rows as rows, and leaves out as
// many others.
const everything = 16_384

// Types of indexes.
const (
	indexHNSW     = "HNSW"
	indexFlat     = "FLAT"
	indexAuto     = "AUTOINDEX"
	indexIVFFlat  = "IVF_FLAT"
	indexIVFSQ8   = "IVF_SQ8"
	indexDiskANN  = "DISKANN"
	indexInverted = "SPARSE_INVERTED_INDEX"
)

// metric is the one of all vector fields: the inner product.
const metric = "IP"

func pairs(keysAndValues ...string) []*commonpb.KeyValuePair {
	var out []*commonpb.KeyValuePair
	for p := range slices.Chunk(keysAndValues, 2) {
		out = append(out, &commonpb.KeyValuePair{Key: p[0], Value: p[1]})
	}
	return out
}

func (s *server) createCollection(ctx context.Context, sch *schemapb.CollectionSchema, shards int32, partitions int64) error {
	described, err := proto.Marshal(protoadapt.MessageV2Of(sch))
	if err != nil {
		return fmt.Errorf("describing collection %q: %w", sch.GetName(), err)
	}
	_, err = s.CreateCollection(ctx, &milvuspb.CreateCollectionRequest{
		CollectionName: sch.GetName(), Schema: described, ShardsNum: shards, NumPartitions: partitions, ConsistencyLevel: commonpb.ConsistencyLevel_Strong,
	})
	return err
}

// createIndex asks for the index of a vector field, and does not wait for it.
func (s *server) createIndex(ctx context.Context, collection, field, kind string) error {
	parameters := "{}"
	switch kind {
	case indexHNSW:
		parameters = fmt.Sprintf(`{"M":"%d","efConstruction":"%d"}`, hnswNeighbours, hnswConstruction)
	case indexInverted:
		parameters = `{"drop_ratio_build":"0"}`
	}
	_, err := s.CreateIndex(ctx, &milvuspb.CreateIndexRequest{
		CollectionName: collection, FieldName: field, ExtraParams: pairs("index_type", kind, "metric_type", metric, "params", parameters),
	})
	return err
}

// insert inserts rows, which are laid out by columns, and returns how many the server has taken.
func (s *server) insert(ctx context.Context, collection string, rows int, columns ...*schemapb.FieldData) (int, error) {
	done, err := s.Insert(ctx, &milvuspb.InsertRequest{CollectionName: collection, FieldsData: columns, NumRows: uint32(rows)})
	return len(done.GetIDs().GetStrId().GetData()) + len(done.GetIDs().GetIntId().GetData()), err
}

func (s *server) delete(ctx context.Context, collection, expr string) error {
	_, err := s.Delete(ctx, &milvuspb.DeleteRequest{CollectionName: collection, Expr: expr})
	return err
}

// query reads the rows that match an expression; limit 0 is for counting.
func (s *server) query(ctx context.Context, collection, expr string, fields []string, level consistency, limit int) (answer, error) {
	req := &milvuspb.QueryRequest{CollectionName: collection, Expr: expr, OutputFields: fields, GuaranteeTimestamp: uint64(level)}
	if limit > 0 {
		req.QueryParams = pairs("limit", strconv.Itoa(limit))
	}
	got, err := s.Query(ctx, req)
	return got.GetFieldsData(), err
}

// search returns the primary keys of the rows nearest to each vector.
func (s *server) search(ctx context.Context, collection string, l leg, parameters map[string]any) ([][]string, error) {
	tuning, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	kind := commonpb.PlaceholderType_FloatVector
	if l.field == fieldSparse {
		kind = commonpb.PlaceholderType_SparseFloatVector
	}
	vectors, err := proto.Marshal(protoadapt.MessageV2Of(&commonpb.PlaceholderGroup{
		Placeholders: []*commonpb.PlaceholderValue{{Tag: "$0", Type: kind, Values: l.vectors}},
	}))
	if err != nil {
		return nil, err
	}
	got, err := s.Search(ctx, &milvuspb.SearchRequest{
		CollectionName: collection, Dsl: l.expr, DslType: commonpb.DslType_BoolExprV1, PlaceholderGroup: vectors, Nq: int64(len(l.vectors)),
		GuaranteeTimestamp: uint64(l.level),
		SearchParams: pairs("anns_field", l.field, "topk", strconv.Itoa(l.limit), "params", string(tuning), "metric_type", metric,
			"round_decimal", "-1", "ignore_growing", "false", "offset", "0", "group_by_field", ""),
	})
	if err != nil {
		return nil, err
	}
	keys, counts := got.GetResults().GetIds().GetStrId().GetData(), got.GetResults().GetTopks()
	out := make([][]string, len(l.vectors))
	if len(keys) == 0 {
		return out, nil // such an answer may say no more than that
	}
	if len(counts) != len(l.vectors) {
		return nil, fmt.Errorf("the server has answered %d of %d vectors", len(counts), len(l.vectors))
	}
	for i, n := range counts {
		if n < 0 || n > int64(len(keys)) {
			return nil, errors.New("the server's answer has fewer primary keys than hits")
		}
		out[i], keys = keys[:n:n], keys[n:]
	}
	return out, nil
}

// Columns of rows to insert.
func varChars(name string, data []string) *schemapb.FieldData {
	return scalars(name, schemapb.DataType_VarChar, &schemapb.ScalarField{Data: &schemapb.ScalarField_StringData{StringData: &schemapb.StringArray{Data: data}}})
}

func int64s(name string, data []int64) *schemapb.FieldData {
	return scalars(name, schemapb.DataType_Int64, longs(data))
}

func longs(data []int64) *schemapb.ScalarField {
	return &schemapb.ScalarField{Data: &schemapb.ScalarField_LongData{LongData: &schemapb.LongArray{Data: data}}}
}

func int64Arrays(name string, data [][]int64) *schemapb.FieldData {
	arrays := &schemapb.ArrayArray{ElementType: schemapb.DataType_Int64}
	for _, d := range data {
		arrays.Data = append(arrays.Data, longs(d))
	}
	return scalars(name, schemapb.DataType_Array, &schemapb.ScalarField{Data: &schemapb.ScalarField_ArrayData{ArrayData: arrays}})
}

func jsons(name string, data [][]byte) *schemapb.FieldData {
	return scalars(name, schemapb.DataType_JSON, &schemapb.ScalarField{Data: &schemapb.ScalarField_JsonData{JsonData: &schemapb.JSONArray{Data: data}}})
}

func scalars(name string, kind schemapb.DataType, data *schemapb.ScalarField) *schemapb.FieldData {
	return &schemapb.FieldData{FieldName: name, Type: kind, Field: &schemapb.FieldData_Scalars{Scalars: data}}
}

func floatVectors(name string, dimensions int, data [][]float32) *schemapb.FieldData {
	return vectors(name, schemapb.DataType_FloatVector, &schemapb.VectorField{
		Dim: int64(dimensions), Data: &schemapb.VectorField_FloatVector{FloatVector: &schemapb.FloatArray{Data: slices.Concat(data...)}},
	})
}

func sparseVectors(name string, data []sparseVector) *schemapb.FieldData {
	array := &schemapb.SparseFloatArray{}
	for _, v := range data {
		array.Contents = append(array.Contents, v)
		if n := v.len(); n > 0 {
			last, _ := v.at(n - 1)
			array.Dim = max(array.Dim, int64(last)+1)
		}
	}
	return vectors(name, schemapb.DataType_SparseFloatVector, &schemapb.VectorField{Dim: array.Dim, Data: &schemapb.VectorField_SparseFloatVector{SparseFloatVector: array}})
}

func vectors(name string, kind schemapb.DataType, data *schemapb.VectorField) *schemapb.FieldData {
	return &schemapb.FieldData{FieldName: name, Type: kind, Field: &schemapb.FieldData_Vectors{Vectors: data}}
}

// sparseVector has pairs of a position and a value, 32 bits each, in order of the positions: as servers take and give it.
type sparseVector []byte

func (v sparseVector) len() int { return len(v) / 8 }

func (v sparseVector) at(i int) (position uint32, value float32) {
	return binary.LittleEndian.Uint32(v[8*i:]), math.Float32frombits(binary.LittleEndian.Uint32(v[8*i+4:]))
}

func (v sparseVector) with(position uint32, value float32) sparseVector {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(v, position), math.Float32bits(value))
}

// floats lays out a dense vector to search by.
func floats(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, f := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

// answer has the columns of the rows that a query has read.
type answer []*schemapb.FieldData

// rows is the number of rows.
func (a answer) rows() (n int) {
	for _, f := range a {
		switch d := f.GetScalars().GetData().(type) {
		case *schemapb.ScalarField_StringData:
			n = max(n, len(d.StringData.GetData()))
		case *schemapb.ScalarField_LongData:
			n = max(n, len(d.LongData.GetData()))
		}
	}
	return n
}

// column returns the column of a name, nil when there is none.
func (a answer) column(name string) *schemapb.FieldData {
	for _, f := range a {
		if f.GetFieldName() == name {
			return f
		}
	}
	return nil
}
