package milvus

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/sluice/sluice/pkg/analysis"
)

// How often a word occurs in a datastore is asked of the index itself, by searching for the word alone and counting the
// hits. Up to countedHits the count is exact; a word that has more is counted among an eighth of the rows, chosen by
// their bucket, then among an eighth of those, until the hits can be counted. So rare words, which decide a ranking, are
// counted exactly, and common ones within some percent, which moves the logarithm of their frequency by hundredths. The
// cost does not grow with the datastore but for the few steps that a common word needs, and all is remembered for a
// while.
const (
	countedHits = 1000
	countedStep = 8
	// countedAtOnce is how many words of a query are counted at the same moment.
	countedAtOnce = 8
)

// sampledRows is how many rows tell which languages a datastore has and, where the server has no sparse vectors, how
// frequent its words are.
const sampledRows = 1000

// How long what was counted is used. It is cheap to count a small datastore again, and there a few rows matter.
const (
	smallSpace   = 10_000 // rows
	smallSpaceOf = 2 * time.Second
	largeSpaceOf = time.Minute
)

// Bounds of what is remembered.
const (
	maxCensuses     = 512
	maxCountedWords = 10_000 // of one space
)

// spaceKey names a datastore in a collection.
type spaceKey struct{ collection, datastore string }

// census is what is known of a space's words. It is not changed but for having.
type census struct {
	rows      float64
	languages []analysis.Language // most frequent first
	until     time.Time

	// Of a collection without sparse vectors: in how many of the sampled rows each term is.
	sampled float64
	sample  map[uint32]float64

	mu     sync.Mutex
	having map[string]float64 // rows that have a word, by its forms
}

// frequencies remembers censuses.
type frequencies struct {
	mu     sync.Mutex
	spaces map[spaceKey]*census
	epoch  map[spaceKey]uint64 // counts this process's changes, while a census is made
	making singleflight.Group
}

// changed forgets what was counted in a space: this process has changed it.
func (f *frequencies) changed(collection, datastore string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := spaceKey{collection, datastore}
	delete(f.spaces, k)
	if _, counting := f.epoch[k]; counting {
		f.epoch[k]++
	}
	f.making.Forget(collection + "\x00" + datastore)
}

func (f *frequencies) get(k spaceKey) *census {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.spaces[k]; c != nil && time.Now().Before(c.until) {
		return c
	}
	return nil
}

// put remembers a census unless the space has changed since it was begun.
func (f *frequencies) put(k spaceKey, c *census, epoch uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.epoch[k] != epoch {
		return
	}
	if f.spaces == nil {
		f.spaces = make(map[spaceKey]*census)
	}
	for other := range f.spaces {
		if len(f.spaces) < maxCensuses {
			break
		}
		delete(f.spaces, other) // any: it will be made again when it is needed
	}
	f.spaces[k] = c
}

// census returns what is known of a space's words, counted now when nothing is, or nothing that is recent.
func (x *Index) census(ctx context.Context, col *collection, datastoreID string) (*census, error) {
	k := spaceKey{col.name, datastoreID}
	if c := x.frequencies.get(k); c != nil {
		return c, nil
	}
	// Queries that wait for the same census share it; it ends with the index, not with the query that began it.
	waiting := x.frequencies.making.DoChan(k.collection+"\x00"+k.datastore, func() (any, error) {
		ctx, cancel := context.WithTimeout(x.ctx, x.opts.CallTimeout)
		defer cancel()
		epoch := x.frequencies.counting(k)
		c, err := x.countWords(ctx, col, datastoreID)
		if err == nil {
			x.frequencies.put(k, c, epoch)
		}
		return c, err
	})
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-waiting:
		if r.Err != nil {
			return nil, fmt.Errorf("counting the rows of datastore %q: %w", datastoreID, r.Err)
		}
		return r.Val.(*census), nil
	}
}

// counting tells the epoch in which a census begins.
func (f *frequencies) counting(k spaceKey) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.epoch == nil || len(f.epoch) > maxCensuses && f.epoch[k] == 0 {
		f.epoch = make(map[spaceKey]uint64)
	}
	e := f.epoch[k]
	f.epoch[k] = e
	return e
}

// countWords counts a space's rows and samples them.
func (x *Index) countWords(ctx context.Context, col *collection, datastoreID string) (*census, error) {
	here := equals(fieldDatastore, datastoreID)
	c := &census{having: make(map[string]float64)}
	err := x.call(ctx, "counting rows", func(ctx context.Context, srv *server) error {
		set, err := srv.Query(ctx, col.name, nil, here, []string{"count(*)"}, eventual)
		if err != nil {
			return err
		}
		t := &table{set: set}
		if n := t.numbers("count(*)"); len(n) == 1 {
			c.rows = float64(n[0])
		} else {
			t.fail("count(*)")
		}
		return t.err
	})
	if err != nil {
		return nil, err
	}
	c.until = time.Now().Add(largeSpaceOf)
	if c.rows < smallSpace {
		c.until = time.Now().Add(smallSpaceOf)
	}
	if c.rows == 0 {
		return c, nil
	}
	share := min(1, 1.1*sampledRows/c.rows)
	return c, x.sample(ctx, col, here+inShare(share), c)
}

// inShare is a condition that a share of the rows meets, "" for all of them.
func inShare(share float64) string {
	if share >= 1 {
		return ""
	}
	return " && " + fieldBucket + " < " + strconv.Itoa(max(1, int(share*buckets)))
}

// sample reads the languages of some rows and, of a collection without sparse vectors, their words.
func (x *Index) sample(ctx context.Context, col *collection, expr string, c *census) error {
	fields := []string{fieldLanguage}
	if !col.sparse {
		fields = append(fields, fieldText, fieldContext)
	}
	return x.call(ctx, "sampling rows", func(ctx context.Context, srv *server) error {
		set, err := srv.Query(ctx, col.name, nil, expr, fields, eventual, client.WithLimit(sampledRows))
		if err != nil || set.Len() == 0 {
			return err
		}
		t := &table{set: set}
		languages := t.texts(fieldLanguage)
		c.languages = ranked(languages)
		if col.sparse {
			return t.err
		}
		texts, contexts := t.texts(fieldText), t.texts(fieldContext)
		if t.err != nil {
			return t.err
		}
		c.sampled, c.sample = float64(len(texts)), sampleTerms(texts, contexts, languages)
		return nil
	})
}

// ranked lists different languages, the most frequent first.
func ranked(languages []string) []analysis.Language {
	n := make(map[analysis.Language]int)
	for _, l := range languages {
		n[analysis.Language(l)]++
	}
	out := make([]analysis.Language, 0, len(n))
	for l := range n {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b analysis.Language) int {
		if n[a] != n[b] {
			return n[b] - n[a]
		}
		return strings.Compare(string(a), string(b))
	})
	return out
}

// sampleTerms counts in how many rows each term is.
func sampleTerms(texts, contexts, languages []string) map[uint32]float64 {
	out := make(map[uint32]float64)
	var words analysis.Analyzer
	for i, text := range texts {
		lang := analysis.Language(languages[i])
		seen := make(map[uint32]bool)
		for _, part := range []string{text, contexts[i]} {
			for _, term := range words.Terms(part, lang) {
				if h := termHash(term); !seen[h] {
					seen[h] = true
					out[h]++
				}
			}
		}
	}
	return out
}

// question weighs the words of a query in a space.
func (x *Index) question(ctx context.Context, col *collection, datastoreID, text string) (question, error) {
	c, err := x.census(ctx, col, datastoreID)
	if err != nil {
		return question{}, err
	}
	words := analysis.Query(text, c.languages)
	having := make([]float64, len(words))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(countedAtOnce)
	for i, w := range words {
		if n, ok := c.known(w); ok {
			having[i] = n
			continue
		}
		group.Go(func() error {
			n, err := x.rowsHaving(ctx, col, datastoreID, hashes(w), c.rows)
			if err != nil {
				return fmt.Errorf("counting the rows that have %q: %w", w.Name, err)
			}
			having[i] = n
			c.learn(w, n)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return question{}, err
	}
	return ask(words, c.rows, having), nil
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

// rowsHaving counts the rows of a datastore that have one of the forms of a word.
func (x *Index) rowsHaving(ctx context.Context, col *collection, datastoreID string, forms []uint32, rows float64) (float64, error) {
	one := make(weights)
	for _, f := range forms {
		one[f] = 1
	}
	vector, err := one.stored()
	if err != nil {
		return 0, err
	}
	for share := 1.0; ; share /= countedStep {
		hits, err := x.nearest(ctx, col, leg{
			doing: "counting hits", field: fieldSparse, vector: vector, limit: countedHits, level: eventual,
			expr: equals(fieldDatastore, datastoreID) + inShare(share),
		})
		if err != nil {
			return 0, err
		}
		if len(hits) < countedHits || share*rows < countedHits || share*buckets < countedStep {
			return float64(len(hits)) / share, nil
		}
	}
}

// leg is a search by one vector field.
type leg struct {
	doing  string
	field  string
	vector entity.Vector
	expr   string
	limit  int
	level  client.SearchQueryOptionFunc
}
