package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

// everySecond is the shortest schedule the server accepts. The shortest one users can set is 600 times as long.
const everySecond = "@every 1s"

func refresh(t testing.TB, text string) domain.Refresh {
	t.Helper()
	r, err := domain.ParseRefresh(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func setSchedule(t testing.TB, b *Broker, datastoreID, datasourceID, pattern string) {
	t.Helper()
	if err := b.setSchedule(testContext(t), datastoreID, datasourceID, pattern); err != nil {
		t.Fatal(err)
	}
}

func schedules(t testing.TB, b *Broker) []Schedule {
	t.Helper()
	var all []Schedule
	if err := b.Schedules(testContext(t), func(s Schedule) error { all = append(all, s); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

type dueMessage struct {
	datastoreID, datasourceID string
	at                        time.Time
}

// due runs Due until the test ends.
func due(t testing.TB, b *Broker, h DueHandler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- b.Due(ctx, h)
		close(ended)
	}()
	stop = func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Due returned %v", err)
			}
		case <-time.After(testTimeout):
			t.Error("Due did not return")
		}
	}
	t.Cleanup(stop)
	return stop
}

func dueInto(reported chan<- dueMessage) DueHandler {
	return func(ctx context.Context, datastoreID, datasourceID string, at time.Time) error {
		select {
		case reported <- dueMessage{datastoreID, datasourceID, at}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestAScheduledDatasourceBecomesDueRepeatedly(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	store, src := domain.NewID(), domain.NewID()
	reported := make(chan dueMessage, 10)
	due(t, b, dueInto(reported))
	began := time.Now()
	setSchedule(t, b, store, src, everySecond)
	for i := range 3 {
		got := receive(t, reported, "what is due")
		if got.datastoreID != store || got.datasourceID != src || got.at.Before(began) || got.at.After(time.Now().Add(time.Second)) {
			t.Errorf("told %d: %+v", i, got)
		}
	}
	if err := b.RemoveSchedule(testContext(t), store, src); err != nil {
		t.Fatal(err)
	}
	if left := schedules(t, b); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := b.leader(StreamSchedules).Last(testContext(t), ">"); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("something is still due: %v", err)
	}
	// By the time another schedule has become due twice, the removed one would have become due as well.
	for len(reported) > 0 {
		<-reported
	}
	other := domain.NewID()
	setSchedule(t, b, store, other, everySecond)
	for range 2 {
		if got := receive(t, reported, "what is due"); got.datasourceID != other {
			t.Errorf("told of a datasource whose schedule was removed: %+v", got)
		}
	}
}

func TestSchedulesAreListedReplacedAndRemoved(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	var ids []string
	for range 5 {
		ids = append(ids, domain.NewID())
	}
	for _, id := range ids {
		for _, text := range []string{"30m", "24h"} {
			if err := b.SetSchedule(ctx, ids[0], id, refresh(t, text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.SetSchedule(ctx, ids[1], ids[2], refresh(t, "0 3 * * 1-5")); err != nil {
		t.Fatal(err)
	}
	if err := b.SetSchedule(ctx, ids[0], ids[4], domain.Refresh{}); err != nil {
		t.Fatal(err)
	}
	want := []Schedule{
		{ids[0], ids[0], "@every 24h0m0s"}, {ids[0], ids[1], "@every 24h0m0s"}, {ids[0], ids[2], "@every 24h0m0s"},
		{ids[0], ids[3], "@every 24h0m0s"}, {ids[1], ids[2], "0 0 3 * * 1-5"},
	}
	if diff := cmp.Diff(want, schedules(t, b)); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
	if err := b.PurgeDatasource(ctx, ids[0], ids[1], domain.AllGenerations); err != nil {
		t.Fatal(err)
	}
	if err := b.PurgeDatasource(ctx, ids[0], ids[2], 1000); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Delete(slices.Clone(want), 1, 2), schedules(t, b)); diff != "" {
		t.Errorf("after purging one (-want +got):\n%s", diff)
	}
	if err := b.PurgeDatastore(ctx, ids[0]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[4:], schedules(t, b)); diff != "" {
		t.Errorf("after purging a datastore (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "*", ">", "a.b"} {
		if err := b.SetSchedule(ctx, bad, ids[0], refresh(t, "24h")); !errors.Is(err, ErrInvalid) {
			t.Errorf("datastore %q: error is %v", bad, err)
		}
		if err := b.RemoveSchedule(ctx, ids[0], bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("datasource %q: error is %v", bad, err)
		}
	}
}

func TestTheServerAcceptsEveryValidRefresh(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	texts := []string{
		"10m", "24h", "7d", "366d", "1d12h", "90m30s",
		"0 3 * * 1-5", "0 3 * * mon-FRI", "*/10 * * * *", "*/59 * * * *", "0,30 8-18/2 1,15 jan *", "0 0 29 2 *", "0 0 31 2 mon", "0 0 30 2 0-6",
		"0 0 */31 * *", "0 0 */30 feb *", "0 0 * * */6", "5/20 */23 * * *", "59 23 31 12 6", "0-59/15 0-23 1-31 1-12 0-6", "00 03 01 01 00", "*/15,7 3/4 2-4,29/2 */5,feb sun-sat/3",
		"0 0 */1 2 *", "0 0 30 2 */1", "0 0 30,*/1 2 *",
	}
	for i, text := range texts {
		err := b.SetSchedule(testContext(t), domain.NewID(), domain.NewID(), refreshOrNot(text))
		if _, parseErr := domain.ParseRefresh(text); parseErr != nil {
			t.Logf("%d: %v", i, parseErr)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func refreshOrNot(text string) domain.Refresh {
	r, err := domain.ParseRefresh(text)
	if err != nil {
		return domain.Refresh{}
	}
	return r
}

func TestDueMessagesAreRedeliveredUntilAcknowledged(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	store, src := domain.NewID(), domain.NewID()
	d := &dueReader{broker: b, retry: backoff{min: time.Millisecond, max: 2 * time.Millisecond}}
	reported := make(chan dueMessage, 10)
	tries := 0
	d.handler = func(ctx context.Context, datastoreID, datasourceID string, at time.Time) error {
		switch tries++; tries {
		case 1:
			return errors.New("the catalog is away")
		case 2:
			panic("a fault")
		}
		return dueInto(reported)(ctx, datastoreID, datasourceID, at)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() {
		_, err := d.read(ctx)
		ended <- err
	}()
	for _, subject := range []string{"due.no.ids", dueSubject(store, src)} {
		if _, err := b.js.Publish(testContext(t), subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := receive(t, reported, "what is due"); got.datasourceID != src || tries != 3 {
		t.Errorf("told %+v at try %d", got, tries)
	}
	cancel()
	if err := receive(t, ended, "the end"); err != nil {
		t.Error(err)
	}
}

func TestSchedulesOutliveARestart(t *testing.T) {
	t.Parallel()
	o := natsd.Options{Dir: t.TempDir(), NoSync: true, Listen: "127.0.0.1:0", Token: "secret"}
	srv := startServer(t, o)
	address := srv.URL()
	conn, err := Connect(testContext(t), ConnectOptions{URL: address, Token: "secret", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b := openBroker(t, conn, Options{})
	store, src := domain.NewID(), domain.NewID()
	setSchedule(t, b, store, src, "@every 2s")
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	down := time.NewTimer(5 * time.Second) // the datasource becomes due twice while the server is down
	<-down.C
	o.Listen = strings.TrimPrefix(address, "nats://")
	startServer(t, o)
	reported := make(chan dueMessage, 10)
	due(t, b, dueInto(reported))
	first := receive(t, reported, "what became due while the server was down")
	second := receive(t, reported, "what is due next")
	if gap := second.at.Sub(first.at); first.datasourceID != src || gap < 500*time.Millisecond || gap > 4*time.Second {
		t.Errorf("told of %s, and again %s later", first.datasourceID, gap)
	}
}

func TestScheduledMessagesOutliveALostServer(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	b := openReplicated(t, c)
	store, src := domain.NewID(), domain.NewID()
	reported := make(chan dueMessage, 100)
	due(t, b, dueInto(reported))
	setSchedule(t, b, store, src, everySecond)
	receive(t, reported, "what is due")
	leaderOf(t, b, c, StreamSchedules).Kill()
	killed := time.Now()
	for got := receive(t, reported, "what is due without the server"); got.at.Before(killed); got = receive(t, reported, "what is due without the server") {
	}
	t.Logf("due again %s after the server was killed", time.Since(killed).Round(time.Millisecond))
}

func TestDueComesBackWithItsStream(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	reported := make(chan dueMessage, 10)
	due(t, b, dueInto(reported))
	store, src := domain.NewID(), domain.NewID()
	setSchedule(t, b, store, src, everySecond)
	receive(t, reported, "what is due")
	if err := b.js.DeleteStream(ctx, StreamSchedules); err != nil {
		t.Fatal(err)
	}
	if err := b.SetSchedule(ctx, store, src, refresh(t, "24h")); !errors.Is(err, ErrStreamLost) {
		t.Errorf("setting without the stream: %v", err)
	}
	if err := b.Schedules(ctx, func(Schedule) error { return nil }); !errors.Is(err, ErrStreamLost) {
		t.Errorf("listing without the stream: %v", err)
	}
	if _, err := b.Repair(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if left := schedules(t, b); len(left) > 0 {
		t.Errorf("schedules: %v", left)
	}
	for len(reported) > 0 {
		<-reported
	}
	setSchedule(t, b, store, src, everySecond)
	receive(t, reported, "what is due after the repair")
}

func TestTwoProcessesShareWhatIsDue(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	reported := make(chan dueMessage, 1000)
	const n = 300
	var first *Broker
	for range 2 {
		first = openBroker(t, connect(t, srv), Options{})
		due(t, first, dueInto(reported))
	}
	want := map[string]bool{}
	for range n {
		id := domain.NewID()
		want[id] = true
		if _, err := first.js.Publish(testContext(t), dueSubject(id, id), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		got := receive(t, reported, "what is due")
		if !want[got.datasourceID] {
			t.Errorf("told twice, or of what is not due: %s", got.datasourceID)
		}
		delete(want, got.datasourceID)
	}
}

func TestServersWithoutSchedulesAreNamed(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	// Create the stream as an older server that doesn't know the setting would.
	if err := b.js.DeleteStream(ctx, StreamSchedules); err != nil {
		t.Fatal(err)
	}
	cfg := b.opts.schedulesConfig()
	cfg.AllowMsgSchedules = false
	stream, err := b.js.CreateStream(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, knows := range map[string]bool{"that does not know schedules": false, "that does not know the pattern": true} {
		stream.CachedInfo().Config.AllowMsgSchedules = knows
		b.schedules = stream
		err := b.SetSchedule(ctx, domain.NewID(), domain.NewID(), refresh(t, "24h"))
		if !errors.Is(err, ErrNoSchedules) || !strings.Contains(fmt.Sprint(err), "2.14") {
			t.Errorf("a server %s: error is %v, want ErrNoSchedules", name, err)
		}
	}
	if len(schedules(t, b)) > 0 {
		t.Error("something was stored")
	}
	upgraded := openBroker(t, b.conn, Options{}) // simulates an api process that starts after a server upgrade
	reported := make(chan dueMessage, 10)
	due(t, upgraded, dueInto(reported))
	setSchedule(t, upgraded, domain.NewID(), domain.NewID(), everySecond)
	receive(t, reported, "what is due after the upgrade")
}

func BenchmarkSetSchedule(b *testing.B) {
	broker := newBroker(b)
	r := refresh(b, "24h")
	store := domain.NewID()
	for b.Loop() {
		if err := broker.SetSchedule(context.Background(), store, domain.NewID(), r); err != nil {
			b.Fatal(err)
		}
	}
}
