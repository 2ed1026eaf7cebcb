package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

type announcement struct{ datastore, datasource string }

// probe is announced repeatedly to detect when a listener has started.
var probe = announcement{domain.NewID(), domain.NewID()}

// listen calls f with each announcement until the test ends. It returns once announcements are arriving.
func listen(t testing.TB, b *Broker, f func(announcement)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, hears := make(chan error, 1), make(chan struct{}, 100)
	go func() {
		ended <- b.Announcements(ctx, func(datastore, datasource string) {
			if x := (announcement{datastore, datasource}); x != probe {
				f(x)
				return
			}
			select {
			case hears <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := receive(t, ended, "the end of Announcements"); err != nil {
			t.Errorf("Announcements returned %v", err)
		}
	})
	limit := time.After(testTimeout)
	for {
		b.Announce(probe.datastore, probe.datasource)
		select {
		case <-hears:
			return
		case <-time.After(5 * time.Millisecond):
		case <-limit:
			t.Fatal("the listener hears nothing")
		}
	}
}

func TestAnnouncementsReachEveryProcess(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true, Listen: "127.0.0.1:0", Token: "secret"})
	here := openBroker(t, connect(t, srv), Options{})
	conn, err := Connect(testContext(t), ConnectOptions{URL: srv.URL(), Token: "secret", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	there := openBroker(t, conn, Options{})
	heard := make(chan announcement, 10)
	listen(t, here, func(x announcement) { heard <- x })
	listen(t, there, func(x announcement) { heard <- x })
	want := announcement{domain.NewID(), domain.NewID()}
	there.Announce("not an id", want.datasource)
	there.Announce(want.datastore, "*")
	there.Announce(want.datastore, want.datasource)
	for range 2 {
		if got := receive(t, heard, "an announcement"); got != want {
			t.Errorf("heard %+v, want %+v", got, want)
		}
	}
	if len(heard) != 0 {
		t.Errorf("heard %+v as well", <-heard)
	}
	conn.Close()
	there.Announce(want.datastore, want.datasource) // no process is listening; the call returns immediately
}

func TestABusyListenerDelaysNoOther(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	begun, release := make(chan struct{}, 3*announcementsWaiting), make(chan struct{})
	listen(t, b, func(announcement) {
		begun <- struct{}{}
		<-release
	})
	datastore := domain.NewID()
	for range 2 * announcementsWaiting {
		b.Announce(datastore, datastore)
	}
	receive(t, begun, "the first announcement")
	if err := b.conn.nc.FlushTimeout(testTimeout); err != nil {
		t.Fatal(err)
	}
	publish(t, b, newJob(domain.JobIngest)) // the connection still works
	close(release)
	receive(t, begun, "another announcement")
}
