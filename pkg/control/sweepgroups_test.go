package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

func TestSweepsOfTheSamePlaceAreCarriedOutTogether(t *testing.T) {
	t.Parallel()
	of := func(source string, p domain.Place) domain.Sweep {
		return domain.Sweep{DatastoreID: "store", DatasourceID: source, Place: p, Below: 7}
	}
	elsewhere := of("b", here)
	elsewhere.DatastoreID = "other"
	tests := map[string]struct {
		sweeps []domain.Sweep
		store  error // returned when the datastore is read
		want   []string
	}{
		"with one call for their rows": {
			sweeps: []domain.Sweep{of("a", here), of("b", here), {DatastoreID: "store", DatasourceID: "c", Place: here, From: 2, Below: 3}},
			want:   []string{"embedded/m rows a 0-7 b 0-7 c 2-3"},
		},
		"in every place of the datastore": {
			sweeps: []domain.Sweep{of("a", domain.Place{}), of("b", domain.Place{})},
			want:   []string{"embedded/m rows a 0-7 b 0-7", "milvus/n rows a 0-7 b 0-7"},
		},
		"but not with those of another place or datastore": {
			sweeps: []domain.Sweep{of("a", here), of("a", there), elsewhere, of("c", here)},
			want:   []string{"embedded/m rows a 0-7 c 0-7", "milvus/n rows a 0-7", "embedded/m rows b 0-7"},
		},
		"beside what is everything in that place": {
			sweeps: []domain.Sweep{of("a", here), {DatastoreID: "store", Place: here, Below: 9}},
			want:   []string{"embedded/m rows a 0-7  0-9"},
		},
		"but not with a datastore that is dropped": {
			sweeps: []domain.Sweep{of("a", domain.Place{}), {DatastoreID: "store", Below: domain.AllGenerations, Jobs: true}},
			want:   []string{"embedded/m rows a 0-7", "milvus/n rows a 0-7", "purge store", "embedded drop store", "milvus drop store"},
		},
		"which drop a datastore once that is gone": {
			sweeps: []domain.Sweep{of("a", domain.Place{}), of("b", domain.Place{})}, store: domain.NotFound("datastore", "store"),
			want: []string{"embedded drop store", "milvus drop store"},
		},
		"with jobs before rows, and originals after them, of each": {
			sweeps: []domain.Sweep{
				{DatastoreID: "store", DatasourceID: "a", Place: here, Below: 7, Jobs: true, Originals: []string{"k", "l"}},
				{DatastoreID: "store", DatasourceID: "b", Place: here, Below: 9, Jobs: true, Originals: []string{"m"}},
			},
			want: []string{"purge a", "purge b", "embedded/m rows a 0-7 b 0-9", "original k", "original l", "original m"},
		},
		"when they have no rows to remove, too": {
			sweeps: []domain.Sweep{{DatastoreID: "store", DatasourceID: "a", Crawls: 8}, of("b", here), {DatastoreID: "other", Originals: []string{"k"}}},
			want:   []string{"withdraw a below 8", "original k", "embedded/m rows b 0-7"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := &sweeps{}, &engines{store: test.store}
			var all []string
			for i, sweep := range test.sweeps {
				sweep.ID = fmt.Sprint(i)
				all = append(all, sweep.ID)
				s.tasks = append(s.tasks, catalog.SweepTask{Sweep: sweep})
			}
			sw := sweeper(s, e, time.Now())
			if _, err := sw.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, e.calls); diff != "" {
				t.Error(diff)
			}
			if slices.Sort(s.finished); !slices.Equal(s.finished, all) {
				t.Errorf("finished %v", s.finished)
			}
		})
	}
}

func TestFailedSweepsFormSmallerGroups(t *testing.T) {
	t.Parallel()
	var tasks []catalog.SweepTask
	for attempts := range 5 {
		for range 2 * sweepBatch {
			s := domain.Sweep{DatastoreID: "store", DatasourceID: "a", Place: here, Below: 7}
			tasks = append(tasks, catalog.SweepTask{Sweep: s, Attempts: attempts})
		}
	}
	got := map[int][]int{}
	for _, group := range grouped(tasks) {
		for _, task := range group {
			if task.Attempts != group[0].Attempts {
				t.Fatalf("sweeps that failed %d and %d times go together", task.Attempts, group[0].Attempts)
			}
		}
		got[group[0].Attempts] = append(got[group[0].Attempts], len(group))
	}
	for attempts, want := range []int{64, 16, 4, 1, 1} {
		if diff := cmp.Diff(slices.Repeat([]int{want}, 2*sweepBatch/want), got[attempts]); diff != "" {
			t.Errorf("after %d failures: %s", attempts, diff)
		}
	}
}

func TestAFailedSweepFailsAloneAndAFailedIndexFailsAll(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		failOn   string
		finished []string
		deferred []string
	}{
		"its messages cannot be purged":  {"purge a", []string{"b", "c"}, []string{"a"}},
		"its original cannot be deleted": {"original b", []string{"a", "c"}, []string{"b"}},
		"rows cannot be deleted":         {"embedded/m rows a 0-7 b 0-7", []string{"c"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sweeps{deferred: map[string]time.Time{}}
			for _, id := range []string{"a", "b", "c"} {
				sweep := domain.Sweep{ID: id, DatastoreID: "store", DatasourceID: id, Place: here, Below: 7, Jobs: true, Originals: []string{id}}
				if id == "c" {
					sweep.Place = there
				}
				s.tasks = append(s.tasks, catalog.SweepTask{Sweep: sweep})
			}
			e := &engines{failOn: test.failOn}
			sw := sweeper(s, e, now)
			if _, err := sw.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.finished, s.finished); diff != "" {
				t.Error(diff)
			}
			want := map[string]time.Time{}
			for _, id := range test.deferred {
				want[id] = now.Add(time.Second)
			}
			if diff := cmp.Diff(want, s.deferred); diff != "" {
				t.Error(diff)
			}
			if len(e.calls) != 8 { // three purges, the rows in two places, and three originals
				t.Errorf("the other sweeps were not carried out: %v", e.calls)
			}
		})
	}
}

// queue is a queue of sweeps with a clock set by the test.
type queue struct {
	sweeps
	now   time.Time
	tasks []catalog.SweepTask
}

func (q *queue) Sweeps(_ context.Context, limit int) (due []catalog.SweepTask, err error) {
	for _, task := range q.tasks {
		if len(due) < limit && !task.DueAt.After(q.now) {
			due = append(due, task)
		}
	}
	return due, nil
}

func (q *queue) FinishSweep(_ context.Context, ids ...string) error {
	q.tasks = slices.DeleteFunc(q.tasks, func(t catalog.SweepTask) bool { return slices.Contains(ids, t.ID) })
	return nil
}

func (q *queue) DeferSweep(_ context.Context, id string, until time.Time, _ string) error {
	for i := range q.tasks {
		if q.tasks[i].ID == id {
			q.tasks[i].DueAt = until
			q.tasks[i].Attempts++
		}
	}
	return nil
}

// poisoned simulates engines that fail every call for a certain datasource.
type poisoned struct {
	engines
	calls int
}

func (p *poisoned) Index(domain.Engine) (Index, error) { return poisonedRows{poison: p}, nil }

type poisonedRows struct {
	engineRows
	poison *poisoned
}

func (p poisonedRows) DeleteGenerations(_ context.Context, _ index.Space, which ...index.Generations) error {
	p.poison.calls++
	if slices.ContainsFunc(which, func(g index.Generations) bool { return strings.HasPrefix(g.DatasourceID, "poison") }) {
		return errDown
	}
	return nil
}

func TestAPermanentlyFailingSweepDelaysOthersOnlyBriefly(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	q := &queue{now: began}
	for i := range 500 {
		s := domain.Sweep{ID: fmt.Sprint(i), DatastoreID: "store", DatasourceID: fmt.Sprint("s", i), Place: here, Below: 7}
		if i%100 == 50 {
			s.DatasourceID = fmt.Sprint("poison", i)
		}
		q.tasks = append(q.tasks, catalog.SweepTask{Sweep: s})
	}
	e := &poisoned{}
	sw := Sweeper{Sweeps: q, Stores: e, Engines: e, Log: quiet, Now: func() time.Time { return q.now }}
	for ; q.now.Sub(began) <= 10*time.Second && len(q.tasks) > 5; q.now = q.now.Add(time.Second) {
		if err := sw.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if took := q.now.Sub(began); took > 8*time.Second || len(q.tasks) != 5 {
		t.Errorf("after %v %d sweeps are left, of which 5 can never succeed", took, len(q.tasks))
	}
	if e.calls > 120 { // one call per sweep would take 500
		t.Errorf("%d calls", e.calls)
	}
}
