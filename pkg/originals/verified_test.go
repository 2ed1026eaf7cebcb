package originals

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/natstest"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// flipOnDisk flips a bit of the content in a server's files.
func flipOnDisk(t *testing.T, s *natstest.Server, content []byte) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(s.Dir(), "jetstream", "*", "streams", streamName, "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		stored, err := os.ReadFile(block)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(stored, content[:100])
		if at < 0 {
			continue
		}
		file, err := os.OpenFile(block, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteAt([]byte{stored[at] ^ 4}, int64(at))
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("server %s has no such content", s.Name)
}

func readVerified(ctx context.Context, s *Store, key string) ([]byte, error) {
	r, err := s.Verified(ctx, key)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(r)
	return got, errors.Join(err, r.Close())
}

func TestAnotherReplicaIsReadIfOneIsDamaged(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	s := openAt(t, c.Servers[0].URL)
	ctx := testContext(t)
	contents := map[string][]byte{}
	for _, size := range []int{1000, 2*chunkSize + 17} {
		key, err := putNew(ctx, s, content(size))
		if err != nil {
			t.Fatal(err)
		}
		contents[key] = content(size)
	}
	for { // until every server has all content
		complete := 0
		info, err := s.stream.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range info.Cluster.Replicas {
			if r.Current && r.Lag == 0 {
				complete++
			}
		}
		if complete == 2 {
			break
		}
	}
	damage := func(server *natstest.Server) {
		t.Helper()
		ctx := testContext(t) // the cluster may have to elect a leader each time
		server.Stop()         // a running server would answer from memory
		for _, content := range contents {
			flipOnDisk(t, server, content)
		}
		server.Start()
		for key := range contents {
			info, err := s.lookUp(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			sum, err := digestOf(info)
			if err != nil {
				t.Fatal(err)
			}
			for { // until the server answers from its own copy
				conn, one, err := s.connectTo(ctx, server.URL)
				if err == nil {
					_, err = s.verified(ctx, info, sum, func(ctx context.Context, sequence uint64, subject string) (*jetstream.RawStreamMsg, error) {
						return one.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(subject))
					})
					conn.Close()
				}
				if errors.Is(err, ErrCorrupt) {
					break
				}
				if ctx.Err() != nil {
					t.Fatalf("the copy on server %s is not damaged: %v", server.Name, err)
				}
			}
		}
	}
	left := map[*natstest.Server]bool{c.Servers[0]: true, c.Servers[1]: true, c.Servers[2]: true}
	for _, server := range []*natstest.Server{c.Servers[0], leaderOf(t, s, c), c.Servers[1]} {
		if left[server] && len(left) > 1 {
			damage(server)
			delete(left, server)
		}
	}
	ctx = testContext(t)
	for key, want := range contents {
		got, err := readVerified(ctx, s, key)
		for errors.Is(err, quorum.ErrUnavailable) && ctx.Err() == nil { // the servers do not know each other yet
			got, err = readVerified(ctx, s, key)
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("with one undamaged copy: %d bytes, %v", len(got), err)
		}
	}
	for server := range left {
		damage(server)
	}
	for key := range contents {
		err := s.Verify(ctx, key)
		for errors.Is(err, quorum.ErrUnavailable) && ctx.Err() == nil {
			err = s.Verify(ctx, key)
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("without an undamaged copy: error is %v, want ErrCorrupt", err)
		}
	}
}
