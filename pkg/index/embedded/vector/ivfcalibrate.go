package vector

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

const (
	// Number of held-out rows used as calibration queries.
	heldOutRows = 64
	// Minimum recall for each limit and query type.
	targetRecall = 0.995
	// Maximum fraction of all rows that a search may scan. Above that, scanning all codes is cheaper.
	maxScanned = 0.33
	// Maximum number of attempts per limit, and the factor by which the radius factor is raised if an attempt finds too
	// few rows.
	radiusTries, radiusStep = 5, 1.1
	// Smallest radius factor to try. A factor of 0 has another meaning; see Radius.
	minRadius = 1e-3
)

// calibratedLimits are the search limits with calibrated radius factors: the usual numbers of hits to show and of
// candidates per query.
var calibratedLimits = [2]int{10, 200}

// Norms of the random noise that turns row vectors into calibration queries. Real queries are farther from rows than
// rows are from each other.
var queryNoise = []float32{0, 0.5, 1}

// Radius contains a radius factor per calibrated limit. A higher factor makes searches probe more lists; see ScanLists.
// 0 means that it's better to scan all codes.
type Radius [len(calibratedLimits)]float32

// Known reports whether the factors are calibrated.
func (r Radius) Known() bool { return r[0] > 0 && r[1] > 0 }

// at interpolates the factor for a limit. It falls as the limit grows, because low-ranked scores are closer together.
func (r Radius) at(limit int) float32 {
	from, to := math.Log(float64(calibratedLimits[0])), math.Log(float64(calibratedLimits[1]))
	part := (math.Log(float64(limit)) - from) / (to - from)
	return r[0] + (r[1]-r[0])*float32(min(max(part, 0), 1))
}

// calibrationQuery is a query and its true nearest rows.
type calibrationQuery struct {
	kind    int    // index into queryNoise
	slot    uint32 // slot of the row the query comes from, which is not a hit
	query   []float32
	nearest []topk.Scored // best first, as many as the larger calibrated limit
}

// makeCalibrationQueries derives queries from held-out rows and finds their nearest rows by scanning all codes.
func makeCalibrationQueries(ctx context.Context, s *Set, held []uint32, rng *rand.Rand) ([]calibrationQuery, error) {
	limit := calibratedLimits[1]
	var out []calibrationQuery
	for _, slot := range held {
		for kind, noise := range queryNoise {
			query := withNoise(Floats(s.Full.Record(slot)), noise, rng)
			found, err := ScanCodes(ctx, s, nil, query, limit+1, int(s.Rows))
			if err != nil {
				return nil, err
			}
			near := removeSlot(found.Best, slot)
			out = append(out, calibrationQuery{kind, slot, query, near[:min(limit, len(near))]})
		}
	}
	return out, nil
}

// removeSlot returns the found rows without the given slot, best first.
func removeSlot(found []topk.Scored, slot uint32) []topk.Scored {
	top := topk.New(len(found))
	for _, f := range found {
		if f.Slot != slot {
			top.Offer(f)
		}
	}
	return top.Best(len(found))
}

// neededRadius returns the smallest radius factor that reaches targetRecall for a limit of `depth`, assuming that the
// threshold is the score of the last of the nearest rows. A search probes the lists with the best centroids, and each
// list whose centroid's score plus factor·radius reaches the threshold.
func (d *builder) neededRadius(questions []calibrationQuery, depth int) (limit float32) {
	gaps := make([][]float32, len(queryNoise))
	products := make([]float32, len(d.sizes))
	first := topk.New(0)
	for _, q := range questions {
		first.Reset(minProbes(len(products)))
		for i, n := range d.sizes {
			products[i] = quant.Dot(q.query, d.tree.lists.point(i))
			if n > 0 {
				first.Offer(topk.Scored{Slot: uint32(i), Score: float64(products[i])})
			}
		}
		first.Compact()
		near := q.nearest[:min(depth, len(q.nearest))]
		for _, row := range near {
			list := d.list[row.Slot]
			gap := (float32(near[len(near)-1].Score) - products[list]) / max(d.radii[list], math.SmallestNonzeroFloat32)
			if last, full := first.Threshold(); !full || float64(products[list]) >= last {
				gap = 0
			}
			gaps[q.kind] = append(gaps[q.kind], gap)
		}
	}
	limit = minRadius
	for _, of := range gaps {
		if slices.Sort(of); len(of) > 0 {
			limit = max(limit, of[min(int(targetRecall*float64(len(of))), len(of)-1)])
		}
	}
	return limit
}

// withNoise adds noise of the given norm in a random direction and normalises the sum.
func withNoise(v []float32, noise float32, rng *rand.Rand) []float32 {
	added, sum := make([]float64, len(v)), 0.0
	for i := range added {
		added[i] = rng.NormFloat64()
		sum += added[i] * added[i]
	}
	scale, length := float64(noise)/math.Sqrt(sum), 0.0
	out := make([]float32, len(v))
	for i, x := range v {
		y := float64(x) + scale*added[i]
		out[i] = float32(y)
		length += y * y
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(max(length, math.SmallestNonzeroFloat32)))
	}
	return out
}

// measured holds the lowest recall for any query type, and the mean fraction of all rows scanned per search.
type measured struct{ recall, scanned float64 }

// measure runs the calibration queries.
func measure(ctx context.Context, s *Set, questions []calibrationQuery, depth int) (o measured, err error) {
	found, wanted := make([]float64, len(queryNoise)), make([]float64, len(queryNoise))
	for _, q := range questions {
		got, looked, err := ScanLists(ctx, s, q.query, depth+1)
		if err != nil {
			return measured{}, err
		}
		want := q.nearest[:min(depth, len(q.nearest))]
		hits := 0
		for _, row := range removeSlot(got.Best, q.slot) {
			if hits < len(want) && row.Score >= want[len(want)-1].Score {
				hits++
			}
		}
		found[q.kind] += float64(hits)
		wanted[q.kind] += float64(len(want))
		o.scanned += float64(looked) / float64(s.Rows) / float64(len(questions))
	}
	o.recall = 1
	for kind, n := range wanted {
		o.recall = min(o.recall, found[kind]/max(1, n))
	}
	return o, nil
}

// calibrate bisects each limit's radius factor down to the smallest one that reaches targetRecall. If searches with any
// of the limits would then scan more than maxScanned of the rows, it leaves all factors at 0.
func (d *builder) calibrate(ctx context.Context, c *IVF, held []uint32, rng *rand.Rand) error {
	if d.set.Thresholds.Radius.Known() {
		c.Radius = d.set.Thresholds.Radius
		return nil
	}
	questions, err := makeCalibrationQueries(ctx, d.set, held, rng)
	if err != nil {
		return err
	}
	with, tried := *d.set, *c
	with.IVF, with.Assigned, with.Written = &tried, d.set.Live, 0
	var found Radius
	for i, depth := range calibratedLimits {
		// A slightly lower factor than neededRadius is enough: a search starts with a lower threshold than neededRadius
		// assumes, so it probes more lists.
		from, to := float32(minRadius), d.neededRadius(questions, depth)
		for n := 0; n < radiusTries; n++ {
			factor := to
			if n > 0 {
				factor = max((from+to)/2, minRadius)
			}
			tried.Radius = Radius{factor, factor}
			o, err := measure(ctx, &with, questions, depth)
			switch {
			case err != nil:
				return err
			case o.recall >= targetRecall && o.scanned <= maxScanned:
				to, found[i] = factor, factor
			case o.scanned > maxScanned:
				to = factor
			case n == 0: // ties or rounding make the computed radius too small
				to *= radiusStep
			default:
				from = factor
			}
		}
		if found[i] == 0 {
			return nil
		}
	}
	c.Radius = found
	return nil
}
