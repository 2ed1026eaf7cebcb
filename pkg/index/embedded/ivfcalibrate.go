package embedded

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

const (
	// heldRows is how many rows that no centre was found from are queries when it is measured how far cells are looked at.
	heldRows = 64
	// wantedRecall is how many of the truly nearest rows must be found, at each depth, of each kind of query.
	wantedRecall = 0.995
	// mostLooked is of all rows the share that may be looked at: a scan of all codes is better than one by cells that looks at more.
	mostLooked = 0.33
	// reachTries is how many are tried for each depth. When the first is too little, reachStep times as much is.
	reachTries, reachStep = 5, 1.1
	// leastReach is one of next to nothing, but known.
	leastReach = 1e-3
)

// depths are the numbers of rows that are asked for, for which the reach is measured: as many as a query shows, and as it has
// candidates.
var depths = [2]int{10, 200}

// noises are the lengths of what is added, in any direction, to vectors of rows: questions lie farther from rows than those from one
// another.
var noises = []float32{0, 0.5, 1}

// reach is how many radii from a cell's centre its rows are looked for, in the query's direction, when as many rows are wanted as
// depths say. 0 says that looking at all codes is better.
type reach [len(depths)]float32

func (r reach) known() bool { return r[0] > 0 && r[1] > 0 }

// at is the reach when so many rows are wanted: the more, the lower, for the last of many is one of many that are like it.
func (r reach) at(limit int) float32 {
	from, to := math.Log(float64(depths[0])), math.Log(float64(depths[1]))
	part := (math.Log(float64(limit)) - from) / (to - from)
	return r[0] + (r[1]-r[0])*float32(min(max(part, 0), 1))
}

// trial is a question about which it is known what is nearest.
type trial struct {
	kind  int    // in noises
	slot  uint32 // whose own vector it is, or nearly, and which does not count
	query []float32
	near  []scored // best first, as many as the greatest depth
}

// trials makes questions of rows, and answers them by looking at all codes.
func trials(ctx context.Context, s *vectorSet, held []uint32, rng *rand.Rand) ([]trial, error) {
	most := depths[1]
	var out []trial
	for _, slot := range held {
		for kind, noise := range noises {
			query := noisy(floatsOf(s.vectors.record(slot)), noise, rng)
			found, err := scanStaged(ctx, s, nil, query, most+1, int(s.rows))
			if err != nil {
				return nil, err
			}
			near := others(found.best, slot)
			out = append(out, trial{kind, slot, query, near[:min(most, len(near))]})
		}
	}
	return out, nil
}

// others returns the rows but one, best first.
func others(found []scored, slot uint32) []scored {
	top := newTopK(len(found))
	for _, f := range found {
		if f.slot != slot {
			top.offer(f)
		}
	}
	return top.best(len(found))
}

// needed returns the reach at a depth with which as many of the nearest rows are in the cells looked at as are wanted: the share of
// them that are in cells looked at in any case, or in some that lie, in radii, no farther below the score of the last row.
func (d *drawing) needed(questions []trial, depth int) (most float32) {
	gaps := make([][]float32, len(noises))
	products := make([]float32, len(d.sizes))
	first := newTopK(0)
	for _, q := range questions {
		first.begin(alwaysLooked(len(products)))
		for i, n := range d.sizes {
			products[i] = quant.Dot(q.query, d.tree.leaves.point(i))
			if n > 0 {
				first.offer(scored{uint32(i), float64(products[i])})
			}
		}
		first.part()
		near := q.near[:min(depth, len(q.near))]
		for _, row := range near {
			cell := d.of[row.slot]
			gap := (float32(near[len(near)-1].score) - products[cell]) / max(d.radii[cell], math.SmallestNonzeroFloat32)
			if last, full := first.floor(); !full || float64(products[cell]) >= last {
				gap = 0
			}
			gaps[q.kind] = append(gaps[q.kind], gap)
		}
	}
	most = leastReach
	for _, of := range gaps {
		if slices.Sort(of); len(of) > 0 {
			most = max(most, of[min(int(wantedRecall*float64(len(of))), len(of)-1)])
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

// outcome is what searches by cells find: the share of the nearest rows, of that kind of question of which it is least, and the
// share of all rows whose codes they compare.
type outcome struct{ recall, looked float64 }

// try puts the questions to a snapshot with cells.
func try(ctx context.Context, s *vectorSet, questions []trial, depth int) (o outcome, err error) {
	found, wanted := make([]float64, len(noises)), make([]float64, len(noises))
	for _, q := range questions {
		got, looked, err := scanCells(ctx, s, q.query, depth+1)
		if err != nil {
			return outcome{}, err
		}
		want := q.near[:min(depth, len(q.near))]
		hits := 0
		for _, row := range others(got.best, q.slot) {
			if hits < len(want) && row.score >= want[len(want)-1].score {
				hits++
			}
		}
		found[q.kind] += float64(hits)
		wanted[q.kind] += float64(len(want))
		o.looked += float64(looked) / float64(s.rows) / float64(len(questions))
	}
	o.recall = 1
	for kind, n := range wanted {
		o.recall = min(o.recall, found[kind]/max(1, n))
	}
	return o, nil
}

// findReach sets the least reach of the cells with which searches find what they must. It leaves it unknown when they would look
// at too much for that.
func (d *drawing) findReach(ctx context.Context, c *cells, held []uint32, rng *rand.Rand) error {
	if d.s.sizes.reach.known() {
		c.reach = d.s.sizes.reach
		return nil
	}
	questions, err := trials(ctx, d.s, held, rng)
	if err != nil {
		return err
	}
	with, tried := *d.s, *c
	with.cells, with.listed, with.written = &tried, d.s.live, 0
	var found reach
	for i, depth := range depths {
		// What is needed when the floor is known at once is a little more than what is when it rises.
		from, to := float32(leastReach), d.needed(questions, depth)
		for n := 0; n < reachTries; n++ {
			reaches := to // the first time
			if n > 0 {
				reaches = max((from+to)/2, leastReach)
			}
			tried.reach = reach{reaches, reaches}
			o, err := try(ctx, &with, questions, depth)
			switch {
			case err != nil:
				return err
			case o.recall >= wantedRecall && o.looked <= mostLooked:
				to, found[i] = reaches, reaches
			case o.looked > mostLooked:
				to = reaches
			case n == 0: // rounding, and rows that are as near as others
				to *= reachStep
			default:
				from = reaches
			}
		}
		if found[i] == 0 {
			return nil
		}
	}
	c.reach = found
	return nil
}
