package catalogtest

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// account is the workspace's, with the key.
func (w *world) account(key string) domain.Account {
	return domain.Account{WorkspaceID: w.ws, KeyID: key}
}

func (w *world) usage() map[domain.Metric]int64 {
	w.t.Helper()
	got, err := w.Usage(w.ctx, w.ws, w.clock.now())
	ok(w.t, err)
	return got
}

// key makes a key of the workspace and returns its id.
func (w *world) key() string {
	w.t.Helper()
	k := newKey(w.ws)
	w.createKey(k)
	return k.ID
}

func (w *world) createKey(k domain.APIKey) {
	w.t.Helper()
	_, err := w.CreateKey(w.ctx, k)
	ok(w.t, err)
}

func testUsage(t *testing.T, open Open) {
	t.Run("counters add up by metric and by key, and begin anew each month", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		march := w.clock.now()
		ok(t, w.Count(w.ctx, w.account("a"), map[domain.Metric]int64{domain.MetricTokens: 40, domain.MetricPromptTokens: 30, domain.MetricRetrievals: 0}))
		ok(t, w.Count(w.ctx, w.account(""), map[domain.Metric]int64{domain.MetricTokens: 2}))
		ok(t, w.Count(w.ctx, w.account("a"), map[domain.Metric]int64{domain.MetricTokens: 3}))
		ok(t, w.Admit(w.ctx, w.account("a")))
		ok(t, w.Count(w.ctx, domain.Account{WorkspaceID: w.workspace(), KeyID: "a"}, map[domain.Metric]int64{domain.MetricTokens: 1000}))
		w.clock.advance(31 * 24 * time.Hour)
		ok(t, w.Count(w.ctx, w.account("b"), map[domain.Metric]int64{domain.MetricTokens: 5}))
		got, err := w.Usage(w.ctx, w.ws, march)
		ok(t, err)
		equal(t, map[domain.Metric]int64{domain.MetricTokens: 45, domain.MetricPromptTokens: 30, domain.MetricQueries: 1}, got)
		keys, err := w.KeyUsage(w.ctx, w.ws, march)
		ok(t, err)
		equal(t, map[string]map[domain.Metric]int64{
			"a": {domain.MetricTokens: 43, domain.MetricPromptTokens: 30, domain.MetricQueries: 1},
			"":  {domain.MetricTokens: 2},
		}, keys)
		equal(t, map[domain.Metric]int64{domain.MetricTokens: 5}, w.usage())
	})
	t.Run("what many count at once adds up, and what is taken away is gone", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		other := domain.Account{WorkspaceID: w.workspace()}
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				key := []string{"a", "b"}[i%2]
				if err := w.Count(w.ctx, w.account(key), map[domain.Metric]int64{domain.MetricRetrievals: 1, domain.MetricEmbedTokens: int64(i)}); err != nil {
					t.Error(err)
				}
				if err := w.Count(w.ctx, other, map[domain.Metric]int64{domain.MetricRetrievals: 2}); err != nil {
					t.Error(err)
				}
				if i%4 == 1 {
					if err := w.Count(w.ctx, w.account(key), map[domain.Metric]int64{domain.MetricRetrievals: -1, domain.MetricEmbedTokens: -int64(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		equal(t, map[domain.Metric]int64{domain.MetricRetrievals: 30, domain.MetricEmbedTokens: 780 - 190}, w.usage())
		keys, err := w.KeyUsage(w.ctx, w.ws, w.clock.now())
		ok(t, err)
		equal(t, map[string]map[domain.Metric]int64{
			"a": {domain.MetricRetrievals: 20, domain.MetricEmbedTokens: 380},
			"b": {domain.MetricRetrievals: 10, domain.MetricEmbedTokens: 400 - 190},
		}, keys)
		theirs, err := w.Usage(w.ctx, other.WorkspaceID, w.clock.now())
		ok(t, err)
		equal(t, map[domain.Metric]int64{domain.MetricRetrievals: 80}, theirs)
	})
	t.Run("what is counted soon is told at once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				w.CountSoon(w.account("a"), map[domain.Metric]int64{domain.MetricRetrievals: 1, domain.MetricEmbedTokens: 0})
			})
		}
		wg.Wait()
		equal(t, map[domain.Metric]int64{domain.MetricRetrievals: 40}, w.usage())
		w.CountSoon(w.account("a"), map[domain.Metric]int64{domain.MetricRetrievals: 2})
		keys, err := w.KeyUsage(w.ctx, w.ws, w.clock.now())
		ok(t, err)
		equal(t, map[string]map[domain.Metric]int64{"a": {domain.MetricRetrievals: 42}}, keys)
	})
	t.Run("what was embedded is counted once, however often its event comes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.createFile()
		w.publishAll()
		d = w.get(d.ID)
		embedded := func(ev *domain.Event) { ev.EmbedTokens = 12 }
		w.apply(d, domain.EventSynched, chunks(2), embedded)
		w.apply(d, domain.EventSynched, chunks(2), embedded)
		equal(t, map[domain.Metric]int64{domain.MetricEmbedTokens: 12}, w.usage())
	})
}

func testQuotas(t *testing.T, open Open) {
	limit := func(m domain.Metric, n int64) domain.Limits { return domain.Limits{m: n} }
	t.Run("a query beyond the limit is refused and not counted, of the workspace, of a key, and of the options", func(t *testing.T) {
		t.Parallel()
		for name, prepare := range map[string]func(w *world, key string){
			"workspace": func(w *world, _ string) { ok(w.t, w.SetLimits(w.ctx, w.account(""), limit(domain.MetricQueries, 3))) },
			"key": func(w *world, key string) {
				ok(w.t, w.SetLimits(w.ctx, w.account(key), limit(domain.MetricQueries, 3)))
			},
			"options": nil,
		} {
			w := newWorld(t, open, func(o *catalog.Options) {
				if prepare == nil {
					o.Limits = limit(domain.MetricQueries, 3)
				}
			})
			key := w.key()
			if prepare != nil {
				prepare(w, key)
			}
			for range 3 {
				ok(t, w.Admit(w.ctx, w.account(key)))
			}
			err := w.Admit(w.ctx, w.account(key))
			code(t, domain.CodeUsageLimit, err)
			if !strings.Contains(err.Error(), "3 agent queries") {
				t.Errorf("%s: %v", name, err)
			}
			equal(t, int64(3), w.usage()[domain.MetricQueries])
			keys, err := w.KeyUsage(w.ctx, w.ws, w.clock.now())
			ok(t, err)
			equal(t, int64(3), keys[key][domain.MetricQueries])
			if name == "key" { // which is no business of others
				ok(t, w.Admit(w.ctx, w.account("")))
			}
			w.clock.advance(31 * 24 * time.Hour)
			ok(t, w.Admit(w.ctx, w.account(key)))
		}
	})
	t.Run("the stricter of two limits holds, and 0 takes one away", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open, func(o *catalog.Options) { o.Limits = limit(domain.MetricQueries, 2) })
		ok(t, w.SetLimits(w.ctx, w.account(""), limit(domain.MetricQueries, 1)))
		ok(t, w.Admit(w.ctx, w.account("")))
		code(t, domain.CodeUsageLimit, w.Admit(w.ctx, w.account("")))
		ok(t, w.SetLimits(w.ctx, w.account(""), domain.Limits{domain.MetricQueries: 0, domain.MetricTokens: 9}))
		got, err := w.Limits(w.ctx, w.account(""))
		ok(t, err)
		equal(t, limit(domain.MetricTokens, 9), got)
		ok(t, w.Admit(w.ctx, w.account("")))
		code(t, domain.CodeUsageLimit, w.Admit(w.ctx, w.account("")))
	})
	t.Run("once the tokens are used up no query passes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		key, other := w.key(), w.key()
		ok(t, w.SetLimits(w.ctx, w.account(key), limit(domain.MetricTokens, 10)))
		ok(t, w.SetLimits(w.ctx, w.account(""), limit(domain.MetricTokens, 20)))
		use := func(key string, n int64) {
			ok(t, w.Admit(w.ctx, w.account(key)))
			ok(t, w.Count(w.ctx, w.account(key), map[domain.Metric]int64{domain.MetricTokens: n}))
		}
		use(key, 9)
		use(key, 3)
		code(t, domain.CodeUsageLimit, w.Admit(w.ctx, w.account(key)))
		use(other, 8)
		err := w.Admit(w.ctx, w.account(other))
		code(t, domain.CodeUsageLimit, err)
		if !strings.Contains(err.Error(), "workspace") || !strings.Contains(err.Error(), "20 model tokens") {
			t.Error(err)
		}
		equal(t, int64(3), w.usage()[domain.MetricQueries])
	})
	t.Run("however many ask at once, no more than the limit pass", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		key := w.key()
		ok(t, w.SetLimits(w.ctx, w.account(""), limit(domain.MetricQueries, 30)))
		ok(t, w.SetLimits(w.ctx, w.account(key), limit(domain.MetricQueries, 20)))
		var passed [2]atomic.Int64
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				for range 5 {
					err := w.Admit(w.ctx, w.account([]string{"", key}[n%2]))
					if err == nil {
						passed[n%2].Add(1)
					} else if domain.CodeOf(err) != domain.CodeUsageLimit {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if all, ofKey := passed[0].Load()+passed[1].Load(), passed[1].Load(); all != 30 || ofKey > 20 {
			t.Errorf("%d passed, %d of them of the key", all, ofKey)
		}
	})
	t.Run("limits of another workspace's key cannot be set", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		key, other := w.key(), w.workspace()
		code(t, domain.CodeNotFound, w.SetLimits(w.ctx, domain.Account{WorkspaceID: other, KeyID: key}, limit(domain.MetricQueries, 1)))
		code(t, domain.CodeNotFound, w.SetLimits(w.ctx, domain.Account{WorkspaceID: domain.NewID()}, limit(domain.MetricQueries, 1)))
	})
}

// sized is a file of so many bytes.
func (w *world) sized(n int64) catalog.NewDatasource {
	return w.file(func(d *catalog.NewDatasource) { d.Datasource.Original.Size = n })
}

func testStorage(t *testing.T, open Open) {
	stored := func(w *world) [2]int64 {
		w.t.Helper()
		chunks, bytes, err := w.Stored(w.ctx, w.ws)
		ok(w.t, err)
		return [2]int64{chunks, bytes}
	}
	t.Run("what a workspace stores is measured by what was accepted and what is searchable", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		first, second := w.create(w.sized(100))[0], w.create(w.sized(20))[0]
		w.createSite(domain.DatasourceConfig{})
		equal(t, [2]int64{0, 120}, stored(w))
		w.synch(first.ID)
		equal(t, [2]int64{2, 120}, stored(w))
		_, err := w.ReplaceContent(w.ctx, w.ws, first.ID, catalog.Replacement{Original: domain.Original{Key: "new", Size: 7}, Job: domain.Job{ID: domain.NewID()}})
		ok(t, err)
		equal(t, [2]int64{2, 27}, stored(w))
		_, err = w.DeleteDatasource(w.ctx, w.ws, second.ID)
		ok(t, err)
		equal(t, [2]int64{2, 7}, stored(w))
		chunks, bytes, err := w.Stored(w.ctx, w.workspace())
		ok(t, err)
		equal(t, [2]int64{0, 0}, [2]int64{chunks, bytes})
	})
	t.Run("what has no room is refused whole, what is smaller than before passes, and what was accepted is finished", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		d := w.create(w.sized(100))[0]
		ok(t, w.SetLimits(w.ctx, w.account(""), domain.Limits{domain.MetricStoredBytes: 110}))
		ok(t, w.CheckStorage(w.ctx, w.ws))
		_, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{w.sized(6), w.sized(6)})
		code(t, domain.CodeUsageLimit, err)
		equal(t, [2]int64{0, 100}, stored(w))
		w.create(w.sized(10))
		code(t, domain.CodeUsageLimit, w.CheckStorage(w.ctx, w.ws))
		replace := func(size int64) error {
			_, err := w.ReplaceContent(w.ctx, w.ws, d.ID, catalog.Replacement{
				Original: domain.Original{Key: domain.NewID(), Size: size}, Job: domain.Job{ID: domain.NewID()},
			})
			return err
		}
		code(t, domain.CodeUsageLimit, replace(101))
		ok(t, w.SetLimits(w.ctx, w.account(""), domain.Limits{domain.MetricStoredBytes: 50}))
		ok(t, replace(99))
		w.synch(d.ID)
		equal(t, [2]int64{2, 109}, stored(w))
	})
	t.Run("no more is accepted once there are enough chunks", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open, func(o *catalog.Options) { o.Limits = domain.Limits{domain.MetricStoredChunks: 2} })
		d := w.create(w.sized(1))[0]
		ok(t, w.CheckStorage(w.ctx, w.ws))
		w.synch(d.ID)
		code(t, domain.CodeUsageLimit, w.CheckStorage(w.ctx, w.ws))
		_, err := w.CreateDatasources(w.ctx, []catalog.NewDatasource{w.sized(1)})
		code(t, domain.CodeUsageLimit, err)
	})
	t.Run("however much comes in at once, no more than there is room for passes", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, open)
		ok(t, w.SetLimits(w.ctx, w.account(""), domain.Limits{domain.MetricStoredBytes: 50}))
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				_, err := w.UpsertDatasources(w.ctx, []catalog.NewDatasource{w.sized(10)})
				if err == nil {
					passed.Add(1)
				} else if domain.CodeOf(err) != domain.CodeUsageLimit {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		equal(t, int64(5), passed.Load())
		equal(t, [2]int64{0, 50}, stored(w))
	})
}
