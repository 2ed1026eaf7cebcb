package milvus

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
)

// probeSparse tests with a temporary collection whether sparse vectors can be stored and searched. Never call it for
// servers older than 2.4: it would crash them.
func (s *server) probeSparse(ctx context.Context, prefix string) (bool, error) {
	name := prefix + "_probe_" + fmt.Sprintf("%x", [16]byte(uuid.New()))
	defer func() { _ = s.DropCollection(context.WithoutCancel(ctx), name) }()
	err := s.trySparse(ctx, name)
	if isPermanent(err) {
		return false, nil
	}
	return err == nil, err
}

func (s *server) trySparse(ctx context.Context, name string) error {
	sch := entity.NewSchema().WithName(name).
		WithField(entity.NewField().WithName("id").WithDataType(entity.FieldTypeInt64).WithIsPrimaryKey(true)).
		WithField(entity.NewField().WithName("sparse").WithDataType(entity.FieldTypeSparseVector))
	if err := s.CreateCollection(ctx, sch, 1, client.WithConsistencyLevel(entity.ClStrong)); err != nil {
		return err
	}
	idx, err := entity.NewIndexSparseInverted(entity.IP, 0)
	if err != nil {
		return err
	}
	if err := s.CreateIndex(ctx, name, "sparse", idx, true); err != nil {
		return err
	}
	if err := s.LoadCollection(ctx, name, true); err != nil {
		return err
	}
	v, err := entity.NewSliceSparseEmbedding([]uint32{1}, []float32{1})
	if err != nil {
		return err
	}
	if _, err := s.Insert(ctx, name, "", entity.NewColumnInt64("id", []int64{1}), entity.NewColumnSparseVectors("sparse", []entity.SparseEmbedding{v})); err != nil {
		return err
	}
	params, err := entity.NewIndexSparseInvertedSearchParam(0)
	if err != nil {
		return err
	}
	_, err = s.Search(ctx, name, nil, "", nil, []entity.Vector{v}, "sparse", entity.IP, 1, params)
	return err
}
