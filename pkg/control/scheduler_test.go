package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

// refreshes simulates a catalog that returns schedules in pages of two.
type refreshes struct {
	mu   sync.Mutex
	rows []catalog.Refresh
	due  func(id string, at time.Time) (bool, error)
}

func (r *refreshes) set(rows ...catalog.Refresh) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = rows
}

func (r *refreshes) Refreshes(_ context.Context, cursor string, _ int) (page []catalog.Refresh, next string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := 0
	if cursor != "" {
		from = 1 + slices.IndexFunc(r.rows, func(row catalog.Refresh) bool { return row.DatasourceID == cursor })
	}
	to := min(from+2, len(r.rows))
	if to < len(r.rows) {
		next = r.rows[to-1].DatasourceID
	}
	return r.rows[from:to], next, nil
}

func (r *refreshes) RefreshDue(_ context.Context, id string, at time.Time) (bool, error) {
	return r.due(id, at)
}

func refreshOf(schedule string) catalog.Refresh {
	return catalog.Refresh{WorkspaceID: domain.NewID(), DatastoreID: domain.NewID(), DatasourceID: domain.NewID(), Schedule: schedule}
}

// counting counts calls and forwards them to a broker.
type counting struct {
	*jobs.Broker
	mu           sync.Mutex
	set, removed int
}

func (c *counting) SetSchedule(ctx context.Context, datastoreID, datasourceID string, r domain.Refresh) error {
	c.mu.Lock()
	c.set++
	c.mu.Unlock()
	return c.Broker.SetSchedule(ctx, datastoreID, datasourceID, r)
}

func (c *counting) RemoveSchedule(ctx context.Context, datastoreID, datasourceID string) error {
	c.mu.Lock()
	c.removed++
	c.mu.Unlock()
	return c.Broker.RemoveSchedule(ctx, datastoreID, datasourceID)
}

// openJobs returns a broker with its own server.
func openJobs(t *testing.T) (*jobs.Broker, *jobs.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	srv, err := natsd.Start(ctx, natsd.Options{Dir: t.TempDir(), NoSync: true, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	conn, err := jobs.Connect(ctx, jobs.ConnectOptions{InProcess: srv, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b, err := jobs.Open(ctx, conn, jobs.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return b, conn
}

// patterns maps each scheduled datasource to its schedule's pattern.
func patterns(t *testing.T, b *jobs.Broker) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := b.Schedules(t.Context(), func(s jobs.Schedule) error { found[s.DatasourceID] = s.Pattern; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSchedulesFollowTheCatalog(t *testing.T) {
	t.Parallel()
	b, conn := openJobs(t)
	daily, weekly, nightly, broken := refreshOf("24h"), refreshOf("7d"), refreshOf("0 3 * * *"), refreshOf("now and then")
	known := &refreshes{}
	counted := &counting{Broker: b}
	s := Scheduler{Catalog: known, Schedules: counted, Log: quiet}
	reconcile := func(when string, want Reconciled, left map[string]string) {
		t.Helper()
		counted.set, counted.removed = 0, 0
		got, err := s.Reconcile(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got != want || counted.set != want.Set || counted.removed != want.Removed {
			t.Errorf("%s: done %+v, asked to set %d and remove %d, want %+v", when, got, counted.set, counted.removed, want)
		}
		if diff := cmp.Diff(left, patterns(t, b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	all := map[string]string{daily.DatasourceID: "@every 24h0m0s", weekly.DatasourceID: "@every 168h0m0s", nightly.DatasourceID: "0 0 3 * * *"}

	reconcile("with nothing to do", Reconciled{}, map[string]string{})
	known.set(daily, broken, weekly, nightly)
	reconcile("with everything new", Reconciled{Set: 3}, all)
	reconcile("once more", Reconciled{}, all)
	daily.Schedule = "1d" // the same interval, written differently
	weekly.Schedule = "8d"
	known.set(daily, weekly)
	left := map[string]string{daily.DatasourceID: "@every 24h0m0s", weekly.DatasourceID: "@every 192h0m0s"}
	reconcile("with one changed and one given up", Reconciled{Set: 1, Removed: 1}, left)
	if err := conn.JetStream().DeleteStream(t.Context(), jobs.StreamSchedules); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reconcile(t.Context()); !errors.Is(err, jobs.ErrStreamLost) {
		t.Errorf("without the stream: %v", err)
	}
	if _, err := b.Repair(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	reconcile("after the stream was lost", Reconciled{Set: 2}, left)
	known.set()
	reconcile("with all given up", Reconciled{Removed: 2}, map[string]string{})
}

func TestSeveralProcessesKeepTheSameSchedules(t *testing.T) {
	t.Parallel()
	b, _ := openJobs(t)
	known := &refreshes{}
	var rows []catalog.Refresh
	want := map[string]string{}
	for range 50 {
		row := refreshOf("12h")
		rows = append(rows, row)
		want[row.DatasourceID] = "@every 12h0m0s"
	}
	known.set(rows...)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			s := Scheduler{Catalog: known, Schedules: b, Log: quiet}
			if _, err := s.Reconcile(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(want, patterns(t, b)); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
}

// changes is a Watchers that sends the ids of changed datasources to a channel.
type changes chan string

func (c changes) Changed(_, datasourceID string) { c <- datasourceID }

func TestSchedulerRefetchesDueDatasources(t *testing.T) {
	t.Parallel()
	b, conn := openJobs(t)
	gone, row := refreshOf("24h"), refreshOf("24h")
	notified, changed := make(chan string, 10), make(changes, 10)
	known := &refreshes{due: func(id string, at time.Time) (bool, error) {
		if age := time.Since(at); age < -time.Second || age > time.Minute {
			t.Errorf("due at %s", at)
		}
		notified <- id
		return id == row.DatasourceID, nil
	}}
	known.set(row)
	wake := make(chan struct{}, 1)
	s := Scheduler{Catalog: known, Schedules: b, Wake: wake, Hub: changed, Log: quiet}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	defer running.Wait()
	defer stop()
	for _, r := range []catalog.Refresh{gone, row} { // as the servers do when a datasource is due
		if _, err := conn.JetStream().Publish(t.Context(), fmt.Sprintf("due.%s.%s", r.DatastoreID, r.DatasourceID), nil); err != nil {
			t.Fatal(err)
		}
		if id := waitFor(t, notified); id != r.DatasourceID {
			t.Errorf("told of %s, want %s", id, r.DatasourceID)
		}
	}
	if id := waitFor(t, changed); id != row.DatasourceID || len(changed) > 0 {
		t.Errorf("changed: %s, and %d more", id, len(changed))
	}
}

func waitFor(t *testing.T, ch <-chan string) string {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("waited in vain")
		return ""
	}
}

func TestSchedulerToleratesServersWithoutSchedules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		known := &refreshes{}
		known.set(refreshOf("24h"))
		rounds := 0
		old := oldServers{set: func() error { rounds++; return fmt.Errorf("setting: %w", jobs.ErrNoSchedules) }}
		s := Scheduler{Catalog: known, Schedules: old, Log: slog.New(slog.NewTextHandler(&lines, nil))}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		<-time.After(scheduleEvery*5/2 + time.Second)
		stop()
		running.Wait()
		if rounds != 3 {
			t.Errorf("%d rounds, want 3", rounds)
		}
		if n := strings.Count(lines.String(), "upgrade them to 2.14"); n != 1 {
			t.Errorf("told %d times, want once:\n%s", n, &lines)
		}
	})
}

// oldServers simulates servers that do not support schedules.
type oldServers struct{ set func() error }

func (o oldServers) Schedules(context.Context, func(jobs.Schedule) error) error { return nil }
func (o oldServers) SetSchedule(context.Context, string, string, domain.Refresh) error {
	return o.set()
}
func (o oldServers) RemoveSchedule(context.Context, string, string) error { return nil }
func (o oldServers) Due(ctx context.Context, _ jobs.DueHandler) error {
	<-ctx.Done()
	return nil
}
