package originals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

func connectTo(t testing.TB, url string) *jobs.Conn {
	t.Helper()
	conn, err := jobs.Connect(testContext(t), jobs.ConnectOptions{URL: url, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func openAt(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(testContext(t), connectTo(t, url).JetStream(), Options{Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leaderOf returns the server that leads the store's stream.
func leaderOf(t testing.TB, s *Store, c *natstest.Cluster) *natstest.Server {
	t.Helper()
	info, err := s.stream.Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return c.Named(info.Cluster.Leader)
}

func putNew(ctx context.Context, s *Store, data []byte) (string, error) {
	key := UploadKey(domain.NewID())
	_, err := s.Put(ctx, key, bytes.NewReader(data), PutOptions{MaxBytes: int64(len(data))})
	return key, err
}

func TestStoredContentIsFoundWhileServersAreKilled(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	writer, reader := openAt(t, c.Servers[0].URL+","+c.URL()), openAt(t, c.Servers[2].URL+","+c.URL())
	data := content(2*chunkSize + 17)
	const readers = 4
	keys, ended := make(chan string, readers), make(chan error, readers)
	for range readers {
		go func() {
			for key := range keys { // read immediately after Put, when replicas may lag
				got, err := read(t, reader, key)
				if err == nil && !bytes.Equal(got, data) {
					err = fmt.Errorf("original %s has other content", key)
				}
				if err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	stored := 0
	put := func(n int) {
		t.Helper()
		for range n {
			key, err := putNew(testContext(t), writer, data)
			if err != nil {
				t.Fatalf("after %d originals: %v", stored, err)
			}
			stored++
			select {
			case keys <- key:
			case err := <-ended:
				t.Fatalf("after %d originals: %v", stored, err)
			}
		}
	}
	put(20)
	victim := leaderOf(t, reader, c)
	victim.Kill()
	put(20)
	victim.Start() // it catches up while serving reads
	put(20)
	close(keys)
	for range readers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	seen := 0
	err := reader.Each(testContext(t), func(string, int64, time.Time) error { seen++; return nil })
	if err != nil || seen != stored {
		t.Errorf("%d originals are listed, %v, and %d were stored", seen, err, stored)
	}
	if pruned, err := reader.Prune(testContext(t)); err != nil || pruned != 0 {
		t.Errorf("pruned %d, %v", pruned, err)
	}
}

func TestADisconnectedLeaderIsNotTrusted(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	boss := leaderOf(t, openAt(t, c.URL()), c)
	var others []*natstest.Server
	for _, s := range c.Servers {
		if s != boss {
			others = append(others, s)
		}
	}
	near, far := openAt(t, boss.URL), openAt(t, others[0].URL)
	boss.Pause()
	key, err := putNew(testContext(t), far, content(10)) // waits for a new leader
	if err != nil {
		t.Fatal(err)
	}
	// The resumed leader still believes itself to be the leader, and this reader is connected only to it. The other
	// servers are paused and can't correct it.
	for _, s := range others {
		s.Pause()
	}
	boss.Resume()
	ctx, cancel := context.WithTimeout(testContext(t), 3*time.Second)
	defer cancel()
	if exists, err := near.Exists(ctx, key); err == nil && !exists || errors.Is(err, ErrNotFound) {
		t.Errorf("an original that a majority has stored is reported as not found: %t, %v", exists, err)
	} else if err != nil && !errors.Is(err, quorum.ErrUnavailable) {
		t.Errorf("error is %v, want ErrUnavailable", err)
	}
	for _, s := range others {
		s.Resume()
	}
	if exists, err := near.Exists(testContext(t), key); err != nil || !exists {
		t.Errorf("once all are there again: %t, %v", exists, err)
	}
}

func TestRepair(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	js := connect(t, natsd.Options{NoSync: true}).JetStream()
	s, err := Open(ctx, js, Options{})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := Attach(ctx, js, Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := putNew(ctx, s, content(10))
	if err != nil {
		t.Fatal(err)
	}
	if repaired, err := s.Repair(ctx); err != nil || repaired {
		t.Errorf("repair of what is whole: %t, %v", repaired, err)
	}
	if err := js.DeleteStream(ctx, streamName); err != nil {
		t.Fatal(err)
	}
	// If the whole store is lost, workers must not treat originals as deleted.
	if _, err := read(t, worker, key); !errors.Is(err, quorum.ErrStreamLost) || errors.Is(err, ErrNotFound) {
		t.Errorf("reading from a lost store: error is %v, want ErrStreamLost", err)
	}
	if _, err := putNew(ctx, s, content(10)); !errors.Is(err, quorum.ErrStreamLost) {
		t.Errorf("writing to a lost store: error is %v, want ErrStreamLost", err)
	}
	if repaired, err := s.Repair(ctx); err != nil || !repaired {
		t.Errorf("repair: %t, %v", repaired, err)
	}
	if exists, err := worker.Exists(ctx, key); err != nil || exists {
		t.Errorf("after the repair: %t, %v", exists, err)
	}
	if key, err = putNew(ctx, s, content(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, worker, key); err != nil {
		t.Errorf("reading what was put after the repair: %v", err)
	}
}
