package embedded

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

const (
	// meanRounds is how often means are moved to the middle of what is nearest to them.
	meanRounds = 6
	// topSample is of how many vectors for each the tops are the means.
	topSample = 256
	// descents is into how many of the tops a vector's nearest mean is looked for.
	descents = 3
	// askEvery is after how many vectors it is asked whether all this is still wanted.
	askEvery = 256
)

// means are points of one length, one after the other, and half of the square of each one's length.
type means struct {
	dimensions int
	points     []float32
	halves     []float32
}

func newMeans(dimensions, n int) *means {
	return &means{dimensions, make([]float32, n*dimensions), make([]float32, n)}
}

func (m *means) len() int { return len(m.halves) }

func (m *means) point(i int) []float32 { return m.points[i*m.dimensions : (i+1)*m.dimensions] }

func (m *means) set(i int, v []float32) {
	p := m.point(i)
	copy(p, v)
	m.halves[i] = quant.Dot(p, p) / 2
}

// add adds those of another to the end.
func (m *means) add(other *means) {
	m.points, m.halves = append(m.points, other.points...), append(m.halves, other.halves...)
}

// nearest returns which of the means from one to another is nearest to a vector, and by which number it is: the highest, of the
// product with the mean without half of its square.
func (m *means) nearest(v []float32, from, to int) (best int, score float32) {
	best, score = from, float32(math.Inf(-1))
	for i := from; i < to; i++ {
		if s := quant.Dot(v, m.point(i)) - m.halves[i]; s > score {
			best, score = i, s
		}
	}
	return best, score
}

// tree has means in groups, each of them under one that is the mean of their vectors: so the nearest is found without looking
// at all.
type tree struct {
	tops   *means
	leaves *means
	first  []int // of a top's leaves, and then how many there are
}

// growTree finds about n means of the vectors in slots, live ones, which it reads where they lie.
func growTree(ctx context.Context, s *vectorSet, slots []uint32, n int, rng *rand.Rand) (*tree, error) {
	tops := max(1, int(math.Sqrt(float64(n))))
	some := slots
	if most := tops * topSample; len(some) > most {
		some = slices.Clone(slots)
		rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		some = some[:most]
		slices.Sort(some)
	}
	t := &tree{leaves: newMeans(s.dimensions, 0)}
	var err error
	if t.tops, err = findMeans(ctx, s, some, tops, rng); err != nil {
		return nil, err
	}
	under := make([][]uint32, t.tops.len())
	for i, slot := range slots {
		if i%askEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at, _ := t.tops.nearest(floatsOf(s.vectors.record(slot)), 0, t.tops.len())
		under[at] = append(under[at], slot)
	}
	for _, group := range under {
		t.first = append(t.first, t.leaves.len())
		share := max(1, int(math.Round(float64(n)*float64(len(group))/float64(len(slots)))))
		leaves, err := findMeans(ctx, s, group, share, rng)
		if err != nil {
			return nil, err
		}
		t.leaves.add(leaves)
	}
	t.first = append(t.first, t.leaves.len())
	return t, nil
}

// findMeans finds n means of vectors, or as many as there are vectors, by moving each to the middle of those that are nearest to
// it, some times (Lloyd's algorithm).
func findMeans(ctx context.Context, s *vectorSet, slots []uint32, n int, rng *rand.Rand) (*means, error) {
	n = min(n, len(slots))
	m := newMeans(s.dimensions, n)
	for i, at := range rng.Perm(len(slots))[:n] {
		m.set(i, floatsOf(s.vectors.record(slots[at])))
	}
	sums, counts := make([]float64, n*s.dimensions), make([]int, n)
	for range meanRounds {
		clear(sums)
		clear(counts)
		for i, slot := range slots {
			if i%askEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			v := floatsOf(s.vectors.record(slot))
			best, _ := m.nearest(v, 0, n)
			counts[best]++
			sum := sums[best*s.dimensions:][:len(v)]
			for d, x := range v {
				sum[d] += float64(x)
			}
		}
		point := make([]float32, s.dimensions)
		for i, count := range counts {
			if count == 0 { // nothing is nearest to it: it begins anew somewhere
				m.set(i, floatsOf(s.vectors.record(slots[rng.IntN(len(slots))])))
				continue
			}
			for d, sum := range sums[i*s.dimensions:][:s.dimensions] {
				point[d] = float32(sum / float64(count))
			}
			m.set(i, point)
		}
	}
	return m, nil
}

// finder looks for the leaf that is nearest to a vector. One goroutine uses it.
type finder struct {
	*tree
	near topK
}

// leaf returns the nearest leaf of those under the tops that are nearest, and the square of its distance from the vector, which
// has unit length.
func (f *finder) leaf(v []float32) (best int, distance float32) {
	f.near.begin(min(descents, f.tops.len()))
	for i := range f.tops.len() {
		f.near.offer(scored{uint32(i), float64(quant.Dot(v, f.tops.point(i)) - f.tops.halves[i])})
	}
	score := float32(math.Inf(-1))
	for _, top := range f.near.kept() {
		if at, s := f.leaves.nearest(v, f.first[top.slot], f.first[top.slot+1]); s > score {
			best, score = at, s
		}
	}
	return best, max(0, 1-2*score)
}
