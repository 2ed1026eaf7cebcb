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
	"github.com/sluice/sluice/pkg/lists"
)

// A word's document frequency is the number of hits in a search for it. The first search has a low limit, enough for
// most words. Words that reach it are searched again with a high limit. Words that reach the high limit too are counted
// in an eighth of the rows, chosen by bucket, then in an eighth of those rows, and so on. So counts are exact for rare
// words, and for all words in a datastore with up to maxCountedHits rows. Counts of common words are accurate to a few
// percent, which is enough because only their logarithm matters. Counting takes only slightly longer in large
// datastores, and results are cached for a while.
const (
	firstHits      = 512
	maxCountedHits = 4096
	countedStep    = 8
	// Number of words counted per call.
	wordsPerCall = 16
)

// Lifetime of cached row and word counts. It is short for small datastores, where counting is cheap and a few rows make
// a difference. Expired counts are refreshed in the background, while queries keep using them for up to staleMaxAge. An
// empty datastore's counts are never reused. When this process changes a space, it discards the space's counts.
const (
	smallSpace  = 10_000 // rows
	smallMaxAge = 2 * time.Second
	largeMaxAge = time.Minute
	staleMaxAge = time.Minute
)

// Cache limits.
const (
	maxStatistics   = 512
	maxCountedWords = 10_000 // per space
)

// spaceKey identifies a datastore in a collection.
type spaceKey struct{ collection, datastore string }

// termStatistics holds a space's word statistics. Once ready, only the fields guarded by mu change.
type termStatistics struct {
	ready chan struct{} // closed once the other fields are set
	err   error
	// before contains older statistics to use until these are ready. It is guarded by statisticsCache.mu.
	before *termStatistics

	rows      float64
	languages []analysis.Language // most frequent first
	average   float64             // average row length
	// mismatch is how far the average is from the assumed length; see averages.
	mismatch float64
	until    time.Time

	// Number of sampled rows, and how many of them contain each term. Set only if the server has no sparse vectors.
	sampled float64
	sample  map[uint32]float64

	mu          sync.Mutex
	rowsByWord  map[string]float64  // keyed by the word's forms
	rowsByShare map[float64]float64 // keyed by the share of the buckets
}

// age reports whether the statistics, which must not be pending, are usable and whether they need a refresh.
func (c *termStatistics) age(now time.Time) (usable, old bool) {
	if c.err != nil || c.rows == 0 {
		return false, true
	}
	return now.Before(c.until.Add(staleMaxAge)), !now.Before(c.until)
}

func (c *termStatistics) pending() bool {
	select {
	case <-c.ready:
		return false
	default:
		return true
	}
}

// statisticsCache caches spaces' statistics, including those still being counted.
type statisticsCache struct {
	mu     sync.Mutex
	spaces map[spaceKey]*termStatistics
	making sync.WaitGroup
}

// changed discards the statistics for a space that this process has changed.
func (f *statisticsCache) changed(collection, datastore string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.spaces, spaceKey{collection, datastore})
}

// get returns the statistics to use for a space. If the space has to be counted again, get also returns new statistics,
// `fill`, which the caller must fill in.
func (f *statisticsCache) get(k spaceKey) (use, fill *termStatistics) {
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
	fill = &termStatistics{ready: make(chan struct{}), before: use, rowsByWord: make(map[string]float64), rowsByShare: make(map[float64]float64)}
	f.put(k, fill)
	return cmp.Or(use, fill), fill
}

// put stores a space's statistics. If the cache is full, it evicts random others.
func (f *statisticsCache) put(k spaceKey, c *termStatistics) {
	if f.spaces == nil {
		f.spaces = make(map[spaceKey]*termStatistics)
	}
	for other := range f.spaces {
		if len(f.spaces) < maxStatistics {
			break
		}
		delete(f.spaces, other)
	}
	f.spaces[k] = c
}

// statistics returns a space's word statistics, collecting them first if necessary. Concurrent queries share this work.
// It continues if the query that started it is cancelled, but not if the index is closed.
func (x *Index) statistics(ctx context.Context, col *collection, datastoreID string) (*termStatistics, error) {
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
func (x *Index) countWords(ctx context.Context, col *collection, datastoreID string, c *termStatistics) error {
	here := equals(fieldDatastore, datastoreID)
	var err error
	if c.rows, err = x.countRows(ctx, col, here, strongConsistency); err != nil {
		return err
	}
	c.until = time.Now().Add(largeMaxAge)
	if c.rows < smallSpace {
		c.until = time.Now().Add(smallMaxAge)
	}
	if c.rows == 0 {
		return nil
	}
	if err := x.sample(ctx, col, here+sampleExpr(sampledRows/c.rows), c); err != nil {
		return err
	}
	if c.rows > sampledRows {
		if err := x.rareLanguages(ctx, col, here, c); err != nil {
			return err
		}
	}
	if col.sparse {
		return nil
	}
	return x.sampleWords(ctx, col, here+sampleExpr(1.1*readTexts/c.rows), c)
}

// countRows counts the rows that match an expression, including copies.
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

// question returns a query's words with their weights in a space.
func (x *Index) question(ctx context.Context, col *collection, datastoreID, text string, rules *analysis.Rules) (lexicalQuery, error) {
	c, err := x.statistics(ctx, col, datastoreID)
	if err != nil {
		return lexicalQuery{}, err
	}
	words := append(analysis.QueryWith(text, c.languages, rules), analysis.PageTerms(text)...)
	having, err := x.rowsWith(ctx, col, datastoreID, words, c)
	if err != nil {
		return lexicalQuery{}, err
	}
	q := newLexicalQuery(words, c.rows, having)
	if c.rows > 0 {
		q.average, q.mismatch = c.average, c.mismatch
	}
	return q, nil
}

// countRowsHaving returns how many rows contain each word.
func (x *Index) countRowsHaving(ctx context.Context, col *collection, datastoreID string, words []analysis.QueryTerm, c *termStatistics) ([]float64, error) {
	having := make([]float64, len(words))
	var unknown []int
	for i, w := range words {
		n, ok := c.known(w)
		if having[i] = n; !ok {
			unknown = append(unknown, i)
		}
	}
	for part := range slices.Chunk(unknown, wordsPerCall) {
		vectors := make([]entity.Vector, len(part))
		for j, i := range part {
			var err error
			if vectors[j], err = formsVector(words[i]); err != nil {
				return nil, err
			}
		}
		counts, err := x.rowsHaving(ctx, col, datastoreID, vectors, c)
		if err != nil {
			return nil, fmt.Errorf("counting the rows with the query's words: %w", err)
		}
		for j, i := range part {
			having[i] = counts[j]
			c.learn(words[i], counts[j])
		}
	}
	return having, nil
}

// formsVector returns a sparse vector that matches rows with any of a word's forms.
func formsVector(w analysis.QueryTerm) (entity.Vector, error) {
	one := make(weights)
	for _, h := range hashes(w.Forms) {
		one[h] = 1
	}
	v, err := one.stored()
	if err != nil {
		return nil, fmt.Errorf("encoding the forms of %q: %w", w.Name, err)
	}
	return v, nil
}

func wordKey(w analysis.QueryTerm) string { return strings.Join(w.Forms, "\x00") }

// known returns how many rows contain a word, if that has been counted or can be estimated from the sample.
func (c *termStatistics) known(w analysis.QueryTerm) (float64, bool) {
	if c.rows == 0 {
		return 0, true
	}
	if c.sample != nil {
		var n float64
		for _, h := range hashes(w.Forms) {
			n += c.sample[h]
		}
		return min(n, c.sampled) / c.sampled * c.rows, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.rowsByWord[wordKey(w)]
	return n, ok
}

func (c *termStatistics) learn(w analysis.QueryTerm, n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rowsByWord) < maxCountedWords {
		c.rowsByWord[wordKey(w)] = n
	}
}

// rowsHaving counts how many of the datastore's rows match each vector.
func (x *Index) rowsHaving(ctx context.Context, col *collection, datastoreID string, vectors []entity.Vector, c *termStatistics) ([]float64, error) {
	out := make([]float64, len(vectors))
	left := make([]int, len(vectors)) // indexes of vectors still to count
	for i := range left {
		left[i] = i
	}
	for share, limit := 1.0, firstHits; len(left) > 0; {
		asked := lists.Map(left, func(i int) entity.Vector { return vectors[i] })
		hits, err := x.nearest(ctx, col, vectorSearch{
			doing: "counting hits", field: fieldSparse, vectors: asked, limit: limit, level: eventualConsistency,
			expr: equals(fieldDatastore, datastoreID) + sampleExpr(share),
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
		last := among < float64(limit) || share*buckets < countedStep // smaller shares are too inaccurate
		var full []int
		for j, i := range left {
			out[i] = float64(len(hits[j])) / max(among, 1) * c.rows
			if len(hits[j]) >= limit && !last {
				full = append(full, i)
			}
		}
		left = full
		if limit == firstHits {
			limit = maxCountedHits
		} else {
			share /= countedStep
		}
	}
	return out, nil
}

// rowsIn counts the rows in a fraction of the buckets. The count is exact and cached in c.
func (x *Index) rowsIn(ctx context.Context, col *collection, datastoreID string, share float64, c *termStatistics) (float64, error) {
	c.mu.Lock()
	n, ok := c.rowsByShare[share]
	c.mu.Unlock()
	if ok {
		return n, nil
	}
	n, err := x.countRows(ctx, col, equals(fieldDatastore, datastoreID)+sampleExpr(share), eventualConsistency)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rowsByShare[share] = n
	return n, nil
}
