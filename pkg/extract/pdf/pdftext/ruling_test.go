package pdftext

import (
	"math"
	"testing"
)

func TestPlacesOfPathsAreNumbersNearThePage(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	for _, m := range []matrix{identity, {1e9, 0, 0, 1e9, 0, 0}, {1, 1, 1, 1, 0, 0}} {
		for _, p := range [][2]float64{{1e308, 5}, {-1e308, -1e308}, {inf, 5}, {inf, -inf}, {math.NaN(), 0}} {
			if x, y := m.point(p[0], p[1]); !(math.Abs(x) <= maxCoordinate && math.Abs(y) <= maxCoordinate) {
				t.Errorf("%v puts %v at %g, %g", m, p, x, y)
			}
		}
	}
	if x, y := identity.point(72, -3.5); x != 72 || y != -3.5 {
		t.Errorf("72, -3.5 is put at %g, %g", x, y)
	}
}
