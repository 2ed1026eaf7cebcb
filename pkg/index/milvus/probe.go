package milvus

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
)

// probeSparse tries on a collection of its own whether sparse vectors can be stored and searched. It must not be asked
// of a server older than 2.4, which would abort.
func (s *server) probeSparse(ctx context.Context, prefix string) (bool, error) {
	name := prefix + "_probe_" + fmt.Sprintf("%x", [16]byte(uuid.New()))
	defer func() {
		_, _ = s.DropCollection(context.WithoutCancel(ctx), &milvuspb.DropCollectionRequest{CollectionName: name})
	}()
	err := s.trySparse(ctx, name)
	if refused(err) {
		return false, nil
	}
	return err == nil, err
}

func (s *server) trySparse(ctx context.Context, name string) error {
	sch := &schemapb.CollectionSchema{Name: name, Fields: []*schemapb.FieldSchema{
		{Name: "id", DataType: schemapb.DataType_Int64, IsPrimaryKey: true},
		{Name: fieldSparse, DataType: schemapb.DataType_SparseFloatVector},
	}}
	if err := s.createCollection(ctx, sch, 1, 0); err != nil {
		return err
	}
	if err := s.createIndex(ctx, name, fieldSparse, indexInverted); err != nil {
		return err
	}
	if _, err := s.LoadCollection(ctx, &milvuspb.LoadCollectionRequest{CollectionName: name}); err != nil {
		return err
	}
	v := sparseVector{}.with(1, 1)
	if _, err := s.insert(ctx, name, 1, int64s("id", []int64{1}), sparseVectors(fieldSparse, []sparseVector{v})); err != nil {
		return err
	}
	l := leg{field: fieldSparse, vectors: [][]byte{v}, limit: 1}
	_, err := s.search(ctx, name, l, searchParams(nil, l))
	return err
}
