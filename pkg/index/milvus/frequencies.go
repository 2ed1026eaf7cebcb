package milvus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/analysis"
)

// How often a word occurs in a datastore is asked of the index itself, by searching for the word alone and counting the
// hits. Most words are rare, so few hits are asked for first, and many only for words that have more. A word that has more
// still is counted among an eighth of the rows, chosen by their bucket, then among an eighth of those, until the hits can
// be counted. So the counts of rare words, which decide a ranking, are exact, and so are all in a datastore of no more than
// manyHits rows; those of common words are within some hundredths, and the weight is only the logarithm of that. The cost
// does not grow with the datastore but for the few steps that a common word needs, and all is remembered for a while.
const (
	fewHits     = 512
	manyHits    = 4096
	countedStep = 8
	// countedAtOnce is how many words one call counts.
	countedAtOnce = 16
)

// How long what was counted is used. It is cheap to count a small datastore again, and there a few rows matter. Then it
// is counted anew while queries still use what there is, for staleFor at most; what this process has changed itself, and
// a datastore that was empty, is not used any longer.
const (
	smallSpace = 10_000 // rows
	smallFor   = 2 * time.Second
	largeFor   = time.Minute
	staleFor   = time.Minute
)

// Bounds of what is remembered.
const (
	maxCensuses     = 512
	maxCountedWords = 10_000 // of one space
)

// spaceKey names a datastore in a collection.
type spaceKey struct{ collection, datastore string }

// census is what is known of a space's words. Once it is ready, nothing of it changes but what mu guards.
type census struct {
	ready chan struct{} // closed when the rest can be read
	err   error
	// before is an older one that is used until this one is ready. It belongs to the lock of frequencies.
	before *census

	rows      float64
	languages []analysis.Language // most frequent first
	average   float64             // length of a row
	// mismatch tells how far that is from what stored weights assume, see averages.
	mismatch float64
	until    time.Time

	// Of a collection without sparse vectors: in how many of the sampled rows each term is.
	sampled float64
	sample  map[uint32]float64

	mu      sync.Mutex
	having  map[string]float64  // rows that have a word, by its forms
	inShare map[float64]float64 // rows in a share of the buckets
}

// age tells whether a census that is ready may be used, and whether it should be made anew.
func (c *census) age(now time.Time) (usable, old bool) {
	if c.err != nil || c.rows == 0 {
		return false, true
	}
	return now.Before(c.until.Add(staleFor)), !now.Before(c.until)
}

func (c *census) pending() bool {
	select {
	case <-c.ready:
		return false
	default:
		return true
	}
}

// frequencies remembers censuses, also those that are being made.
type frequencies struct {
	mu     sync.Mutex
	spaces map[spaceKey]*census
	making sync.WaitGroup
}

// changed forgets what was counted in a space: this process has changed it.
func (f *frequencies) changed(collection, datastore string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.spaces, spaceKey{collection, datastore})
}

// get returns the census to use for a space, and one that the caller must see to being made, or nil.
func (f *frequencies) get(k spaceKey) (use, fill *census) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.spaces[k]; last != nil {
		if last.pending() {
			return cmp.Or(last.before, last), nil
		}
		last.before = nil
		usable, old := last.age(time.Now())
		if !old {
			return last, nil
		}
		if usable {
			use = last
		}
	}
	fill = &census{ready: make(chan struct{}), before: use, having: make(map[string]float64), inShare: make(map[float64]float64)}
	f.put(k, fill)
	return cmp.Or(use, fill), fill
}

// put remembers a census, in place of any other one when there are too many: that is made again when it is needed.
func (f *frequencies) put(k spaceKey, c *census) {
	if f.spaces == nil {
		f.spaces = make(map[spaceKey]*census)
	}
	for other := range f.spaces {
		if len(f.spaces) < maxCensuses {
			break
		}
		delete(f.spaces, other)
	}
	f.spaces[k] = c
}

// census returns what is known of a space's words, counted now when nothing is, or nothing that is recent. Queries that
// need the same census wait for it together; making it ends with the index, not with the query that began it.
func (x *Index) census(ctx context.Context, col *collection, datastoreID string) (*census, error) {
	c, fill := x.frequencies.get(spaceKey{col.name, datastoreID})
	if fill != nil {
		x.frequencies.making.Go(func() {
			ctx, cancel := context.WithTimeout(x.ctx, x.opts.CallTimeout)
			defer cancel()
			defer close(fill.ready)
			fill.err = x.countWords(ctx, col, datastoreID, fill)
		})
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.ready:
	}
	if c.err != nil {
		return nil, fmt.Errorf("counting the rows of datastore %q: %w", datastoreID, c.err)
	}
	return c, nil
}

// countWords counts a space's rows and samples them.
func (x *Index) countWords(ctx context.Context, col *collection, datastoreID string, c *census) error {
	here := equals(fieldDatastore, datastoreID)
	var err error
	if c.rows, err = x.countRows(ctx, col, here, strong); err != nil {
		return err
	}
	c.until = time.Now().Add(largeFor)
	if c.rows < smallSpace {
		c.until = time.Now().Add(smallFor)
	}
	if c.rows == 0 {
		return nil
	}
	if err := x.sample(ctx, col, here+inShare(sampledRows/c.rows), c); err != nil {
		return err
	}
	if c.rows > sampledRows {
		if err := x.seldom(ctx, col, here, c); err != nil {
			return err
		}
	}
	if col.sparse {
		return nil
	}
	return x.sampleWords(ctx, col, here+inShare(1.1*readTexts/c.rows), c)
}

// countRows counts the rows that match an expression, copies included.
func (x *Index) countRows(ctx context.Context, col *collection, expr string, level client.SearchQueryOptionFunc) (rows float64, err error) {
	err = x.call(ctx, "counting rows", func(ctx context.Context, srv *server) error {
		set, err := srv.Query(ctx, col.name, nil, expr, []string{"count(*)"}, level)
		if err != nil {
			return err
		}
		t := &table{set: set}
		if n := t.numbers("count(*)"); len(n) == 1 {
			rows = float64(n[0])
		} else {
			t.fail("count(*)")
		}
		return t.err
	})
	return rows, err
}

// question weighs the words of a query in a space.
func (x *Index) question(ctx context.Context, col *collection, datastoreID, text string) (question, error) {
	c, err := x.census(ctx, col, datastoreID)
	if err != nil {
		return question{}, err
	}
	words := analysis.Query(text, c.languages)
	having := make([]float64, len(words))
	var unknown []int
	for i, w := range words {
		n, ok := c.known(w)
		if having[i] = n; !ok {
			unknown = append(unknown, i)
		}
	}
	for part := range slices.Chunk(unknown, countedAtOnce) {
		vectors := make([]entity.Vector, len(part))
		for j, i := range part {
			if vectors[j], err = formsVector(words[i]); err != nil {
				return question{}, err
			}
		}
		counts, err := x.rowsHaving(ctx, col, datastoreID, vectors, c)
		if err != nil {
			return question{}, fmt.Errorf("counting the rows that have the query's words: %w", err)
		}
		for j, i := range part {
			having[i] = counts[j]
			c.learn(words[i], counts[j])
		}
	}
	q := ask(words, c.rows, having)
	if c.rows > 0 {
		q.average, q.mismatch = c.average, c.mismatch
	}
	return q, nil
}

// formsVector finds the rows that have one of the forms of a word.
func formsVector(w analysis.QueryTerm) (entity.Vector, error) {
	one := make(weights)
	for _, h := range hashes(w) {
		one[h] = 1
	}
	v, err := one.stored()
	if err != nil {
		return nil, fmt.Errorf("laying out the forms of %q: %w", w.Name, err)
	}
	return v, nil
}

func wordKey(w analysis.QueryTerm) string { return strings.Join(w.Forms, "\x00") }

// known tells how many rows have a word when it was counted before or can be told from the sample.
func (c *census) known(w analysis.QueryTerm) (float64, bool) {
	if c.rows == 0 {
		return 0, true
	}
	if c.sample != nil {
		var n float64
		for _, h := range hashes(w) {
			n += c.sample[h]
		}
		return min(n, c.sampled) / c.sampled * c.rows, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.having[wordKey(w)]
	return n, ok
}

func (c *census) learn(w analysis.QueryTerm, n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.having) < maxCountedWords {
		c.having[wordKey(w)] = n
	}
}

// rowsHaving counts the rows of a datastore that each vector finds.
func (x *Index) rowsHaving(ctx context.Context, col *collection, datastoreID string, vectors []entity.Vector, c *census) ([]float64, error) {
	out := make([]float64, len(vectors))
	left := make([]int, len(vectors)) // those still to be counted
	for i := range left {
		left[i] = i
	}
	for share, limit := 1.0, fewHits; len(left) > 0; {
		asked := make([]entity.Vector, len(left))
		for j, i := range left {
			asked[j] = vectors[i]
		}
		hits, err := x.nearest(ctx, col, leg{
			doing: "counting hits", field: fieldSparse, vectors: asked, limit: limit, level: eventual,
			expr: equals(fieldDatastore, datastoreID) + inShare(share),
		})
		if err != nil {
			return nil, err
		}
		among := c.rows
		if share < 1 {
			if among, err = x.rowsIn(ctx, col, datastoreID, share, c); err != nil {
				return nil, err
			}
		}
		last := among < float64(limit) || share*buckets < countedStep // a smaller share would tell nothing
		var full []int
		for j, i := range left {
			out[i] = float64(len(hits[j])) / max(among, 1) * c.rows
			if len(hits[j]) >= limit && !last {
				full = append(full, i)
			}
		}
		left = full
		if limit == fewHits {
			limit = manyHits
		} else {
			share /= countedStep
		}
	}
	return out, nil
}

// rowsIn counts the rows in a share of the buckets, once for each census: what is counted among them is known the better.
func (x *Index) rowsIn(ctx context.Context, col *collection, datastoreID string, share float64, c *census) (float64, error) {
	c.mu.Lock()
	n, ok := c.inShare[share]
	c.mu.Unlock()
	if ok {
		return n, nil
	}
	n, err := x.countRows(ctx, col, equals(fieldDatastore, datastoreID)+inShare(share), eventual)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inShare[share] = n
	return n, nil
}
