package catalogtest

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

// AccountOf returns the account for the test's workspace and the given key.
func AccountOf(w *world.World, key string) domain.Account {
	return domain.Account{WorkspaceID: w.WS, KeyID: key}
}

func usageOf(w *world.World) map[domain.Metric]int64 {
	w.T.Helper()
	got := world.Must(w.Usage(w.Ctx, w.WS, w.Clock.Now()))(w.T)
	return got
}

// KeyOf creates an API key in the test's workspace and returns its id.
func KeyOf(w *world.World) string {
	w.T.Helper()
	k := newKey(w.WS)
	createKey(w, k)
	return k.ID
}

func createKey(w *world.World, k domain.APIKey) {
	w.T.Helper()
	world.Must(w.CreateKey(w.Ctx, k))(w.T)
}

func testUsage(t *testing.T, open world.Open) {
	world.Run(t, open, "counters add up by metric and key, and start again each month", func(t *testing.T, w *world.World) {
		march := w.Clock.Now()
		world.OK(t, w.Count(w.Ctx, AccountOf(w, "a"), map[domain.Metric]int64{domain.MetricTokens: 40, domain.MetricPromptTokens: 30, domain.MetricRetrievals: 0}))
		world.OK(t, w.Count(w.Ctx, AccountOf(w, ""), map[domain.Metric]int64{domain.MetricTokens: 2}))
		world.OK(t, w.Count(w.Ctx, AccountOf(w, "a"), map[domain.Metric]int64{domain.MetricTokens: 3}))
		world.OK(t, w.Admit(w.Ctx, AccountOf(w, "a")))
		world.OK(t, w.Count(w.Ctx, domain.Account{WorkspaceID: w.NewWorkspace(), KeyID: "a"}, map[domain.Metric]int64{domain.MetricTokens: 1000}))
		w.Clock.Advance(31 * 24 * time.Hour)
		world.OK(t, w.Count(w.Ctx, AccountOf(w, "b"), map[domain.Metric]int64{domain.MetricTokens: 5}))
		got := world.Must(w.Usage(w.Ctx, w.WS, march))(t)
		world.Equal(t, map[domain.Metric]int64{domain.MetricTokens: 45, domain.MetricPromptTokens: 30, domain.MetricQueries: 1}, got)
		keys := world.Must(w.KeyUsage(w.Ctx, w.WS, march))(t)
		world.Equal(t, map[string]map[domain.Metric]int64{
			"a": {domain.MetricTokens: 43, domain.MetricPromptTokens: 30, domain.MetricQueries: 1},
			"":  {domain.MetricTokens: 2},
		}, keys)
		world.Equal(t, map[domain.Metric]int64{domain.MetricTokens: 5}, usageOf(w))
	})
	world.Run(t, open, "concurrent counts add up, and subtracted ones are gone", func(t *testing.T, w *world.World) {
		other := domain.Account{WorkspaceID: w.NewWorkspace()}
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				key := []string{"a", "b"}[i%2]
				if err := w.Count(w.Ctx, AccountOf(w, key), map[domain.Metric]int64{domain.MetricRetrievals: 1, domain.MetricEmbedTokens: int64(i)}); err != nil {
					t.Error(err)
				}
				if err := w.Count(w.Ctx, other, map[domain.Metric]int64{domain.MetricRetrievals: 2}); err != nil {
					t.Error(err)
				}
				if i%4 == 1 {
					if err := w.Count(w.Ctx, AccountOf(w, key), map[domain.Metric]int64{domain.MetricRetrievals: -1, domain.MetricEmbedTokens: -int64(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		world.Equal(t, map[domain.Metric]int64{domain.MetricRetrievals: 30, domain.MetricEmbedTokens: 780 - 190}, usageOf(w))
		keys := world.Must(w.KeyUsage(w.Ctx, w.WS, w.Clock.Now()))(t)
		world.Equal(t, map[string]map[domain.Metric]int64{
			"a": {domain.MetricRetrievals: 20, domain.MetricEmbedTokens: 380},
			"b": {domain.MetricRetrievals: 10, domain.MetricEmbedTokens: 400 - 190},
		}, keys)
		theirs := world.Must(w.Usage(w.Ctx, other.WorkspaceID, w.Clock.Now()))(t)
		world.Equal(t, map[domain.Metric]int64{domain.MetricRetrievals: 80}, theirs)
	})
	world.Run(t, open, "deferred counts are visible at once", func(t *testing.T, w *world.World) {
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				w.CountDeferred(AccountOf(w, "a"), map[domain.Metric]int64{domain.MetricRetrievals: 1, domain.MetricEmbedTokens: 0})
			})
		}
		wg.Wait()
		world.Equal(t, map[domain.Metric]int64{domain.MetricRetrievals: 40}, usageOf(w))
		w.CountDeferred(AccountOf(w, "a"), map[domain.Metric]int64{domain.MetricRetrievals: 2})
		keys := world.Must(w.KeyUsage(w.Ctx, w.WS, w.Clock.Now()))(t)
		world.Equal(t, map[string]map[domain.Metric]int64{"a": {domain.MetricRetrievals: 42}}, keys)
	})
	world.Run(t, open, "embedded tokens are counted once, even if their event arrives repeatedly", func(t *testing.T, w *world.World) {
		d := w.CreateFile()
		w.PublishAll()
		d = w.Get(d.ID)
		embedded := func(ev *domain.Event) { ev.EmbedTokens = 12 }
		w.ApplyEvent(d, domain.EventSynched, world.Chunks(2), embedded)
		w.ApplyEvent(d, domain.EventSynched, world.Chunks(2), embedded)
		world.Equal(t, map[domain.Metric]int64{domain.MetricEmbedTokens: 12}, usageOf(w))
	})
}

func testQuotas(t *testing.T, open world.Open) {
	limit := func(m domain.Metric, n int64) domain.Limits { return domain.Limits{m: n} }
	t.Run("a query beyond the limit is refused and not counted, of the workspace, of a key, and of the options", func(t *testing.T) {
		t.Parallel()
		for name, prepare := range map[string]func(w *world.World, key string){
			"workspace": func(w *world.World, _ string) {
				world.OK(w.T, w.SetLimits(w.Ctx, AccountOf(w, ""), limit(domain.MetricQueries, 3)))
			},
			"key": func(w *world.World, key string) {
				world.OK(w.T, w.SetLimits(w.Ctx, AccountOf(w, key), limit(domain.MetricQueries, 3)))
			},
			"options": nil,
		} {
			w := world.New(t, open, func(o *catalog.Options) {
				if prepare == nil {
					o.Limits = limit(domain.MetricQueries, 3)
				}
			})
			key := KeyOf(w)
			if prepare != nil {
				prepare(w, key)
			}
			for range 3 {
				world.OK(t, w.Admit(w.Ctx, AccountOf(w, key)))
			}
			err := w.Admit(w.Ctx, AccountOf(w, key))
			world.Code(t, domain.CodeUsageLimit, err)
			if !strings.Contains(err.Error(), "3 agent queries") {
				t.Errorf("%s: %v", name, err)
			}
			world.Equal(t, int64(3), usageOf(w)[domain.MetricQueries])
			keys := world.Must(w.KeyUsage(w.Ctx, w.WS, w.Clock.Now()))(t)
			world.Equal(t, int64(3), keys[key][domain.MetricQueries])
			if name == "key" { // a limit on one key does not affect other keys
				world.OK(t, w.Admit(w.Ctx, AccountOf(w, "")))
			}
			w.Clock.Advance(31 * 24 * time.Hour)
			world.OK(t, w.Admit(w.Ctx, AccountOf(w, key)))
		}
	})
	t.Run("the stricter of two limits holds, and 0 takes one away", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open, func(o *catalog.Options) { o.Limits = limit(domain.MetricQueries, 2) })
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), limit(domain.MetricQueries, 1)))
		world.OK(t, w.Admit(w.Ctx, AccountOf(w, "")))
		world.Code(t, domain.CodeUsageLimit, w.Admit(w.Ctx, AccountOf(w, "")))
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), domain.Limits{domain.MetricQueries: 0, domain.MetricTokens: 9}))
		got := world.Must(w.Limits(w.Ctx, AccountOf(w, "")))(t)
		world.Equal(t, limit(domain.MetricTokens, 9), got)
		world.OK(t, w.Admit(w.Ctx, AccountOf(w, "")))
		world.Code(t, domain.CodeUsageLimit, w.Admit(w.Ctx, AccountOf(w, "")))
	})
	world.Run(t, open, "once the tokens are used up no query passes", func(t *testing.T, w *world.World) {
		key, other := KeyOf(w), KeyOf(w)
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, key), limit(domain.MetricTokens, 10)))
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), limit(domain.MetricTokens, 20)))
		use := func(key string, n int64) {
			world.OK(t, w.Admit(w.Ctx, AccountOf(w, key)))
			world.OK(t, w.Count(w.Ctx, AccountOf(w, key), map[domain.Metric]int64{domain.MetricTokens: n}))
		}
		use(key, 9)
		use(key, 3)
		world.Code(t, domain.CodeUsageLimit, w.Admit(w.Ctx, AccountOf(w, key)))
		use(other, 8)
		err := w.Admit(w.Ctx, AccountOf(w, other))
		world.Code(t, domain.CodeUsageLimit, err)
		if !strings.Contains(err.Error(), "workspace") || !strings.Contains(err.Error(), "20 model tokens") {
			t.Error(err)
		}
		world.Equal(t, int64(3), usageOf(w)[domain.MetricQueries])
	})
	world.Run(t, open, "concurrent requests never exceed the limit", func(t *testing.T, w *world.World) {
		key := KeyOf(w)
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), limit(domain.MetricQueries, 30)))
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, key), limit(domain.MetricQueries, 20)))
		var passed [2]atomic.Int64
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				for range 5 {
					err := w.Admit(w.Ctx, AccountOf(w, []string{"", key}[n%2]))
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
	world.Run(t, open, "limits of another workspace's key cannot be set", func(t *testing.T, w *world.World) {
		key, other := KeyOf(w), w.NewWorkspace()
		world.Code(t, domain.CodeNotFound, w.SetLimits(w.Ctx, domain.Account{WorkspaceID: other, KeyID: key}, limit(domain.MetricQueries, 1)))
		world.Code(t, domain.CodeNotFound, w.SetLimits(w.Ctx, domain.Account{WorkspaceID: domain.NewID()}, limit(domain.MetricQueries, 1)))
	})
}

func sized(w *world.World, n int64) catalog.NewDatasource {
	return w.File(func(d *catalog.NewDatasource) { d.Datasource.Original.Size = n })
}

func testStorage(t *testing.T, open world.Open) {
	stored := func(w *world.World) [2]int64 {
		w.T.Helper()
		chunks, bytes, err := w.Stored(w.Ctx, w.WS)
		world.OK(w.T, err)
		return [2]int64{chunks, bytes}
	}
	world.Run(t, open, "storage of a workspace counts accepted and searchable content", func(t *testing.T, w *world.World) {
		first, second := w.Create(sized(w, 100))[0], w.Create(sized(w, 20))[0]
		w.CreateSite(domain.DatasourceConfig{})
		world.Equal(t, [2]int64{0, 120}, stored(w))
		w.Synch(first.ID)
		world.Equal(t, [2]int64{2, 120}, stored(w))
		_, err := w.ReplaceContent(w.Ctx, w.WS, first.ID, catalog.Replacement{Original: domain.Original{Key: "new", Size: 7}, Job: domain.Job{ID: domain.NewID()}})
		world.OK(t, err)
		world.Equal(t, [2]int64{2, 27}, stored(w))
		world.Must(w.DeleteDatasource(w.Ctx, w.WS, second.ID))(t)
		world.Equal(t, [2]int64{2, 7}, stored(w))
		chunks, bytes, err := w.Stored(w.Ctx, w.NewWorkspace())
		world.OK(t, err)
		world.Equal(t, [2]int64{0, 0}, [2]int64{chunks, bytes})
	})
	world.Run(t, open, "content over the limit is rejected whole, smaller replacements pass, and accepted content is finished", func(t *testing.T, w *world.World) {
		d := w.Create(sized(w, 100))[0]
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), domain.Limits{domain.MetricStoredBytes: 110}))
		world.OK(t, w.CheckStorage(w.Ctx, w.WS))
		world.Refused(w.CreateDatasources(w.Ctx, []catalog.NewDatasource{sized(w, 6), sized(w, 6)}))(t, domain.CodeUsageLimit)
		world.Equal(t, [2]int64{0, 100}, stored(w))
		w.Create(sized(w, 10))
		world.Code(t, domain.CodeUsageLimit, w.CheckStorage(w.Ctx, w.WS))
		replace := func(size int64) error {
			_, err := w.ReplaceContent(w.Ctx, w.WS, d.ID, catalog.Replacement{
				Original: domain.Original{Key: domain.NewID(), Size: size}, Job: domain.Job{ID: domain.NewID()},
			})
			return err
		}
		world.Code(t, domain.CodeUsageLimit, replace(101))
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), domain.Limits{domain.MetricStoredBytes: 50}))
		world.OK(t, replace(99))
		w.Synch(d.ID)
		world.Equal(t, [2]int64{2, 109}, stored(w))
	})
	t.Run("no more is accepted once there are enough chunks", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open, func(o *catalog.Options) { o.Limits = domain.Limits{domain.MetricStoredChunks: 2} })
		d := w.Create(sized(w, 1))[0]
		world.OK(t, w.CheckStorage(w.Ctx, w.WS))
		w.Synch(d.ID)
		world.Code(t, domain.CodeUsageLimit, w.CheckStorage(w.Ctx, w.WS))
		world.Refused(w.CreateDatasources(w.Ctx, []catalog.NewDatasource{sized(w, 1)}))(t, domain.CodeUsageLimit)
	})
	world.Run(t, open, "concurrent uploads never exceed the storage limit", func(t *testing.T, w *world.World) {
		world.OK(t, w.SetLimits(w.Ctx, AccountOf(w, ""), domain.Limits{domain.MetricStoredBytes: 50}))
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				_, err := w.UpsertDatasources(w.Ctx, []catalog.NewDatasource{sized(w, 10)})
				if err == nil {
					passed.Add(1)
				} else if domain.CodeOf(err) != domain.CodeUsageLimit {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		world.Equal(t, int64(5), passed.Load())
		world.Equal(t, [2]int64{0, 50}, stored(w))
	})
}
