package embedded

import (
	"bytes"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// TestCodesOfAnEpochThatHasPassedAreMadeAnew writes a batch whose codes were made before the space had others.
func TestCodesOfAnEpochThatHasPassedAreMadeAnew(t *testing.T) {
	t.Parallel()
	s := testSpace(t, sizes{codes: 40, exact: 8, cells: 1 << 30})
	mustPut(t, s, testRows("a", 1, 45))
	late := testBatch(t, testRows("late", 1, 5))
	makeCodesOf(late.rows, &s.snapshot().vectorSet)
	before, old := s.snapshot().epoch, bytes.Clone(late.rows[0].fine)
	if before == 0 || old == nil {
		t.Errorf("codes %x of epoch %d", old, before)
	}
	mustPut(t, s, testRows("b", 1, recentreFactor*45))
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.snapshot().epoch == before {
		t.Error("the space has kept its codes")
	}
	if err := s.writeBatches(t.Context(), []*batch{late}); err != nil {
		t.Fatal(err)
	}
	encode := s.snapshot().encoder()
	for _, p := range late.rows {
		code, fine := encode(p.row.Vector)
		if !bytes.Equal(p.code, code) || !bytes.Equal(p.fine, fine) || bytes.Equal(p.fine, old) {
			t.Errorf("the codes of %s are not those of the current epoch", p.row.Key)
		}
	}
	if got := foundBy(t, s, "wlatex1x3"); got != len(late.rows) {
		t.Errorf("%d rows are found by a word of the late batch, want %d", got, len(late.rows))
	}
}

func TestWhatIsMuchIsDeletedInSeveralCommits(t *testing.T) {
	t.Parallel()
	s := testSpace(t, sizes{})
	for _, source := range []string{"a", "b", "c"} {
		mustPut(t, s, testRows(source, 1, deletedAtOnce))
	}
	mustPut(t, s, testRows("d", 1, 1))
	var rest []doomed
	for _, source := range []string{"a", "absent", "b", "c"} {
		rest = append(rest, doomedBy(index.Generations{DatasourceID: source, Below: 5}))
	}
	for _, want := range []int{3, 1, 0} { // the absent one goes with the one that follows
		var err error
		if rest, err = s.deleteRows(t.Context(), rest); err != nil {
			t.Fatal(err)
		}
		if len(rest) != want {
			t.Errorf("%v is left, want %d", rest, want)
		}
	}
	if rows := s.snapshot().rows; rows != 1 {
		t.Errorf("%d rows are left, want 1", rows)
	}
}
