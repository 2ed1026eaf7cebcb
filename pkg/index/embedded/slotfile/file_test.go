package slotfile

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range []struct{ columns, length int }{{8, 20}, {48, 60}, {48, 64}, {0, 4}, {16, 16}} {
		records := make([][]byte, groupRows)
		group := make([]byte, groupRows*size.length)
		for i := range records {
			records[i] = make([]byte, size.length)
			for j := range records[i] {
				records[i][j] = byte(r.Uint32())
			}
		}
		for _, i := range r.Perm(groupRows) {
			Put(group, size.columns, i, records[i])
		}
		got := make([]byte, size.length)
		for i, want := range records {
			if Take(got, group, size.columns, i); !bytes.Equal(got, want) {
				t.Fatalf("%+v, record %d: %x, want %x", size, i, got, want)
			}
		}
	}
}
