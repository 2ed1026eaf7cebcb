package pptx

import (
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestManyBoxesAreOrderedWithoutLongWork(t *testing.T) {
	t.Parallel()
	var boxes []slideBox
	for i := range 20_000 {
		at := float64(i * 7919 % 20_000)
		boxes = append(boxes, slideBox{frame: slideFrame{x: at, y: at, width: 30_000, height: 30_000, known: true}, blocks: []domain.Block{{Page: int(at)}}})
	}
	for i, b := range inReadingOrder(boxes, false) {
		if b.Page != i {
			t.Fatalf("block %d stands at %d", i, b.Page)
		}
	}
}
