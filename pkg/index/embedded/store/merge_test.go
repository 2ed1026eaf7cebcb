package store

import (
	"bytes"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

// TestCodesOfAnOldEpochAreComputedAgain writes a batch with codes that became outdated while it was waiting.
func TestCodesOfAnOldEpochAreComputedAgain(t *testing.T) {
	t.Parallel()
	s := testSpace(t, vector.Thresholds{Codes: 40, Exact: 8, IVF: 1 << 30})
	mustPut(t, s, testRows("a", 1, 45))
	late := testBatch(t, testRows("late", 1, 5))
	computeCodes(late.Rows, &s.Snapshot().Set)
	before, old := s.Snapshot().Epoch, bytes.Clone(late.Rows[0].int8)
	if before == 0 || old == nil {
		t.Errorf("codes %x of epoch %d", old, before)
	}
	mustPut(t, s, testRows("b", 1, vector.RecentreFactor*45))
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.Snapshot().Epoch == before {
		t.Error("the space has kept its codes")
	}
	if err := s.writeBatches(t.Context(), []*Batch{late}); err != nil {
		t.Fatal(err)
	}
	encode := s.Snapshot().Encoder()
	for _, p := range late.Rows {
		code, fine := encode(p.row.Vector)
		if !bytes.Equal(p.bits, code) || !bytes.Equal(p.int8, fine) || bytes.Equal(p.int8, old) {
			t.Errorf("the codes of %s are not those of the current epoch", p.row.Key)
		}
	}
	if got := foundBy(t, s, "wlatex1x3"); got != len(late.Rows) {
		t.Errorf("%d rows are found by a word of the late batch, want %d", got, len(late.Rows))
	}
}

func TestLargeDeletionsTakeSeveralCommits(t *testing.T) {
	t.Parallel()
	s := testSpace(t, vector.Thresholds{})
	for _, source := range []string{"a", "b", "c"} {
		mustPut(t, s, testRows(source, 1, rowsPerDeletion))
	}
	mustPut(t, s, testRows("d", 1, 1))
	var rest []deletion
	for _, source := range []string{"a", "absent", "b", "c"} {
		rest = append(rest, deletionOf(index.Generations{DatasourceID: source, Below: 5}))
	}
	for _, want := range []int{3, 1, 0} { // "absent" has no rows, so it needs no commit of its own
		var err error
		if rest, err = s.deleteRows(t.Context(), rest); err != nil {
			t.Fatal(err)
		}
		if len(rest) != want {
			t.Errorf("%v is left, want %d", rest, want)
		}
	}
	if rows := s.Snapshot().Rows; rows != 1 {
		t.Errorf("%d rows are left, want 1", rows)
	}
}
