package embedded

import (
	"math"
	"math/bits"
)

const (
	// marginSample is how many rows tell how scores depend on the distances of sign bits.
	marginSample = 2048
	// marginFew is how many of them it takes at least to tell anything.
	marginFew = 64
	// mayMiss is which share of the rows asked for may be expected among those that are not compared. What is expected is
	// several times what is missed: rows that are near seem near more often than the sample of all rows tells.
	mayMiss = 0.002
	// marginWidth is by how much scores are taken to spread more than they do in the sample: their tails are longer than
	// the normal distribution's.
	marginWidth = 1.1
)

// margin tells how far a staged scan must go. It knows the scores of a sample of all rows, and so how scores fall with
// the distance and how much they vary at a distance; how many rows there are at each distance is known exactly. From that
// follows how many of the rows at the distances not yet scanned are to be expected above the worst that has been kept.
type margin struct {
	d      distances
	points []point // in no order
}

// point is a row of the sample.
type point struct{ distance, score float64 }

func newMargin(s *snapshot, filter slotSet, query []float32, d distances) (*margin, error) {
	rows := 0
	for _, n := range d.counts {
		rows += n
	}
	m := &margin{d: d, points: make([]point, 0, marginSample+1)}
	step := max(1, rows/marginSample)
	i := 0
	for w := range (int(s.slots) + 63) / 64 {
		live := s.live.word(w)
		for b := live & filter.word(w); b != 0; b &= b - 1 {
			if i++; i%step != 0 {
				continue
			}
			if err := s.vectors.check(w, live); err != nil {
				return nil, err
			}
			slot := uint32(w*64 + bits.TrailingZeros64(b))
			m.points = append(m.points, point{float64(d.of[slot]), float64(dot(query, floatsOf(s.vectors.record(slot))))})
		}
	}
	return m, nil
}

// next returns how many rows, of those nearest by sign bits, a scan must still compare that has come to the distance from
// and wants the rows above a floor, so many: none when it may end.
func (m *margin) next(floor float64, wanted, from int) (rows int) {
	fit, ok := m.fit(from)
	left := 0
	missed := 0.0
	to := len(m.d.counts)
	for ; to > from; to-- {
		n := m.d.counts[to-1]
		if n == 0 {
			continue
		}
		if ok {
			missed += float64(n) * fit.above(float64(to-1), floor)
		}
		if !ok || missed > mayMiss*float64(wanted) { // nothing can be told of a few
			break
		}
	}
	for _, n := range m.d.counts[from:to] {
		left += n
	}
	return left
}

// fit is a line through scores by distance, and how much they vary around it.
type fit struct{ distance, score, slope, spread float64 }

// fit fits the sample's rows at a distance of at least from: those that the scan would go on with.
func (m *margin) fit(from int) (fit, bool) {
	var n, sx, sy, sxx, sxy, syy float64
	for _, p := range m.points {
		if p.distance >= float64(from) {
			n, sx, sy = n+1, sx+p.distance, sy+p.score
			sxx, sxy, syy = sxx+p.distance*p.distance, sxy+p.distance*p.score, syy+p.score*p.score
		}
	}
	if n < marginFew {
		return fit{}, false
	}
	f := fit{distance: sx / n, score: sy / n}
	vx, cov, vy := sxx/n-f.distance*f.distance, sxy/n-f.distance*f.score, syy/n-f.score*f.score
	if vx > 0 {
		f.slope = min(0, cov/vx)
	}
	f.spread = marginWidth * math.Sqrt(max(0, vy-2*f.slope*cov+f.slope*f.slope*vx))
	return f, true
}

// above is how likely a row at a distance has a score above a floor.
func (f fit) above(distance, floor float64) float64 {
	expected := f.score + f.slope*(distance-f.distance)
	if f.spread == 0 {
		if expected > floor {
			return 1
		}
		return 0
	}
	z := (floor - expected) / f.spread
	if z > 6 { // of a thousand million rows, one
		return 0
	}
	return math.Erfc(z/math.Sqrt2) / 2
}
