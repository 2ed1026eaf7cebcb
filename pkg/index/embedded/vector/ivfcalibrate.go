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
	// heldOutRows is how many rows that no centre was found from are queries when it is measured how far cells are looked at.
	heldOutRows = 64
	// targetRecall is how many of the truly nearest rows must be found, at each depth, of each kind of query.
	targetRecall = 0.995
	// maxScanned is of all rows the share that may be looked at: a scan of all codes is better than one by cells that looks at more.
	maxScanned = 0.33
	// radiusTries is how many are tried for each depth. When the first is too little, reachStep times as much is.
	radiusTries, radiusStep = 5, 1.1
	// minRadius is one of next to nothing, but known.
	minRadius = 1e-3
)

// calibratedLimits are the numbers of rows that are asked for, for which the reach is measured: as many as a query shows, and as it has
// candidates.
var calibratedLimits = [2]int{10, 200}

// queryNoise are the lengths of what is added, in any direction, to vectors of rows: questions lie farther from rows than those from one
// another.
var queryNoise = []float32{0, 0.5, 1}

// Radius is how many radii from a cell's centre its rows are looked for, in the query's direction, when as many rows are wanted as
// depths say. 0 says that looking at all codes is better.
type Radius [len(calibratedLimits)]float32

func (r Radius) Known() bool { return r[0] > 0 && r[1] > 0 }

// at is the reach when so many rows are wanted: the more, the lower, for the last of many is one of many that are like it.
func (r Radius) at(limit int) float32 {
	from, to := math.Log(float64(calibratedLimits[0])), math.Log(float64(calibratedLimits[1]))
	part := (math.Log(float64(limit)) - from) / (to - from)
	return r[0] + (r[1]-r[0])*float32(min(max(part, 0), 1))
}

// trial is a question about which it is known what is nearest.
type trial struct {
	kind  int    // in noises
	slot  uint32 // whose own vector it is, or nearly, and which does not count
	query []float32
	near  []topk.Scored // best first, as many as the greatest depth
}

// makeTrials makes questions of rows, and answers them by looking at all codes.
func makeTrials(ctx context.Context, s *Set, held []uint32, rng *rand.Rand) ([]trial, error) {
	most := calibratedLimits[1]
	var out []trial
	for _, slot := range held {
		for kind, noise := range queryNoise {
			query := noisy(Floats(s.Full.Record(slot)), noise, rng)
			found, err := ScanCodes(ctx, s, nil, query, most+1, int(s.Rows))
			if err != nil {
				return nil, err
			}
			near := others(found.Best, slot)
			out = append(out, trial{kind, slot, query, near[:min(most, len(near))]})
		}
	}
	return out, nil
}

// others returns the rows but one, best first.
func others(found []topk.Scored, slot uint32) []topk.Scored {
	top := topk.New(len(found))
	for _, f := range found {
		if f.Slot != slot {
			top.Offer(f)
		}
	}
	return top.Best(len(found))
}

// neededRadius returns the reach at a depth with which as many of the nearest rows are in the cells looked at as are wanted: the share of
// them that are in cells looked at in any case, or in some that lie, in radii, no farther below the score of the last row.
func (d *builder) neededRadius(questions []trial, depth int) (most float32) {
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
		near := q.near[:min(depth, len(q.near))]
		for _, row := range near {
			cell := d.list[row.Slot]
			gap := (float32(near[len(near)-1].Score) - products[cell]) / max(d.radii[cell], math.SmallestNonzeroFloat32)
			if last, full := first.Threshold(); !full || float64(products[cell]) >= last {
				gap = 0
			}
			gaps[q.kind] = append(gaps[q.kind], gap)
		}
	}
	most = minRadius
	for _, of := range gaps {
		if slices.Sort(of); len(of) > 0 {
			most = max(most, of[min(int(targetRecall*float64(len(of))), len(of)-1)])
		}
	}
	return most
}

// noisy returns a vector of unit length that is another one with so much added in a random direction.
func noisy(v []float32, noise float32, rng *rand.Rand) []float32 {
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

// measured is what searches by cells find: the share of the nearest rows, of that kind of question of which it is least, and the
// share of all rows whose codes they compare.
type measured struct{ recall, scanned float64 }

// measure puts the questions to a snapshot with cells.
func measure(ctx context.Context, s *Set, questions []trial, depth int) (o measured, err error) {
	found, wanted := make([]float64, len(queryNoise)), make([]float64, len(queryNoise))
	for _, q := range questions {
		got, looked, err := ScanLists(ctx, s, q.query, depth+1)
		if err != nil {
			return measured{}, err
		}
		want := q.near[:min(depth, len(q.near))]
		hits := 0
		for _, row := range others(got.Best, q.slot) {
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

// calibrate sets the least reach of the cells with which searches find what they must. It leaves it unknown when they would look
// at too much for that.
func (d *builder) calibrate(ctx context.Context, c *IVF, held []uint32, rng *rand.Rand) error {
	if d.set.Thresholds.Radius.Known() {
		c.Radius = d.set.Thresholds.Radius
		return nil
	}
	questions, err := makeTrials(ctx, d.set, held, rng)
	if err != nil {
		return err
	}
	with, tried := *d.set, *c
	with.IVF, with.Assigned, with.Written = &tried, d.set.Live, 0
	var found Radius
	for i, depth := range calibratedLimits {
		// What is needed when the floor is known at once is a little more than what is when it rises.
		from, to := float32(minRadius), d.neededRadius(questions, depth)
		for n := 0; n < radiusTries; n++ {
			reaches := to // the first time
			if n > 0 {
				reaches = max((from+to)/2, minRadius)
			}
			tried.Radius = Radius{reaches, reaches}
			o, err := measure(ctx, &with, questions, depth)
			switch {
			case err != nil:
				return err
			case o.recall >= targetRecall && o.scanned <= maxScanned:
				to, found[i] = reaches, reaches
			case o.scanned > maxScanned:
				to = reaches
			case n == 0: // rounding, and rows that are as near as others
				to *= radiusStep
			default:
				from = reaches
			}
		}
		if found[i] == 0 {
			return nil
		}
	}
	c.Radius = found
	return nil
}
