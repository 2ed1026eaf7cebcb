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
	// Number of iterations of Lloyd's algorithm.
	lloydRounds = 6
	// Number of training vectors per coarse centroid.
	coarseSample = 256
	// Number of coarse centroids to consider for a vector: the vector is compared only with the lists of the nearest ones.
	coarseProbes = 3
	// Number of vectors between checks of the context.
	checkEvery = 256
)

// means contains centroids and half their squared norms.
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

func (m *means) add(other *means) {
	m.points, m.halves = append(m.points, other.points...), append(m.halves, other.halves...)
}

// nearest returns the centroid m in [from, to) that is nearest to v, and its score v·m - |m|²/2. The nearest centroid
// has the highest score.
func (m *means) nearest(v []float32, from, to int) (best int, score float32) {
	best, score = from, float32(math.Inf(-1))
	for i := from; i < to; i++ {
		if s := quant.Dot(v, m.point(i)) - m.halves[i]; s > score {
			best, score = i, s
		}
	}
	return best, score
}

// tree is a two-level k-means tree. Coarse centroids group the lists, so finding the nearest list doesn't mean
// comparing them all.
type tree struct {
	coarse *means
	lists  *means
	first  []int // first list of each coarse centroid, followed by the number of lists
}

// growTree trains about n centroids from the vectors in `slots`, which must be live and already verified.
func growTree(ctx context.Context, s *Set, slots []uint32, n int, rng *rand.Rand) (*tree, error) {
	tops := max(1, int(math.Sqrt(float64(n))))
	some := slots
	if limit := tops * coarseSample; len(some) > limit {
		some = slices.Clone(slots)
		rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		some = some[:limit]
		slices.Sort(some)
	}
	t := &tree{lists: newMeans(s.Dimensions, 0)}
	var err error
	if t.coarse, err = findMeans(ctx, s, some, tops, rng); err != nil {
		return nil, err
	}
	under := make([][]uint32, t.coarse.len())
	for i, slot := range slots {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at, _ := t.coarse.nearest(Floats(s.Full.Record(slot)), 0, t.coarse.len())
		under[at] = append(under[at], slot)
	}
	for _, group := range under {
		t.first = append(t.first, t.lists.len())
		share := max(1, int(math.Round(float64(n)*float64(len(group))/float64(len(slots)))))
		leaves, err := findMeans(ctx, s, group, share, rng)
		if err != nil {
			return nil, err
		}
		t.lists.add(leaves)
	}
	t.first = append(t.first, t.lists.len())
	return t, nil
}

// findMeans trains n centroids with Lloyd's algorithm, or one per vector if there are fewer than n vectors.
func findMeans(ctx context.Context, s *Set, slots []uint32, n int, rng *rand.Rand) (*means, error) {
	n = min(n, len(slots))
	m := newMeans(s.Dimensions, n)
	for i, at := range rng.Perm(len(slots))[:n] {
		m.set(i, Floats(s.Full.Record(slots[at])))
	}
	sums, counts := make([]float64, n*s.Dimensions), make([]int, n)
	for range lloydRounds {
		clear(sums)
		clear(counts)
		for i, slot := range slots {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			v := Floats(s.Full.Record(slot))
			best, _ := m.nearest(v, 0, n)
			counts[best]++
			sum := sums[best*s.Dimensions:][:len(v)]
			for d, x := range v {
				sum[d] += float64(x)
			}
		}
		point := make([]float32, s.Dimensions)
		for i, count := range counts {
			if count == 0 { // restart an empty list at a random vector
				m.set(i, Floats(s.Full.Record(slots[rng.IntN(len(slots))])))
				continue
			}
			for d, sum := range sums[i*s.Dimensions:][:s.Dimensions] {
				point[d] = float32(sum / float64(count))
			}
			m.set(i, point)
		}
	}
	return m, nil
}

// finder looks up the list nearest to a vector. It is not safe for concurrent use.
type finder struct {
	*tree
	near topk.TopK
}

// leaf finds the list nearest to the unit vector v among those of the nearest coarse centroids. It returns that list
// and its centroid's squared distance from v.
func (f *finder) leaf(v []float32) (best int, distance float32) {
	f.near.Reset(min(coarseProbes, f.coarse.len()))
	for i := range f.coarse.len() {
		f.near.Offer(topk.Scored{Slot: uint32(i), Score: float64(quant.Dot(v, f.coarse.point(i)) - f.coarse.halves[i])})
	}
	score := float32(math.Inf(-1))
	for _, top := range f.near.Items() {
		if at, s := f.lists.nearest(v, f.first[top.Slot], f.first[top.Slot+1]); s > score {
			best, score = at, s
		}
	}
	return best, max(0, 1-2*score)
}
