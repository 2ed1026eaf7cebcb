package originals

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

// envChild is the environment variable that turns the test binary into the child process. Its value is a store's
// directory, where the child puts originals and prints the key of each one stored until it is killed.
const envChild = "SLUICE_TEST_ORIGINALS_CHILD"

func child(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv, err := natsd.Start(ctx, natsd.Options{Dir: dir, Log: quiet})
	if err != nil {
		return err
	}
	conn, err := jobs.Connect(ctx, jobs.ConnectOptions{InProcess: srv, Log: quiet})
	if err != nil {
		return err
	}
	s, err := Open(ctx, conn.JetStream(), Options{})
	if err != nil {
		return err
	}
	for {
		key := UploadKey(domain.NewID())
		if _, err := s.Put(ctx, key, bytes.NewReader(content(4*chunkSize)), PutOptions{MaxBytes: 1 << 30}); err != nil {
			return err
		}
		fmt.Println(key)
	}
}

func TestKillDuringPut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nats")
	var safe []string
	for range 5 {
		cmd := exec.CommandContext(testContext(t), os.Args[0])
		cmd.Env = append(os.Environ(), envChild+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n, stop := 0, rand.IntN(4); lines.Scan(); n++ {
			safe = append(safe, lines.Text())
			if n == stop {
				// Kill the child at a random moment during the next Put.
				time.AfterFunc(rand.N(20*time.Millisecond), func() { _ = cmd.Process.Kill() })
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child was not killed")
		}
	}
	now := time.Now()
	s, err := Open(testContext(t), connect(t, natsd.Options{Dir: dir}).JetStream(), Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2*MaxPutTime + time.Minute)
	pruned, err := s.Prune(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d originals are safe, %d were half written", len(safe), pruned)
	stored := map[string]bool{}
	err = s.Each(testContext(t), func(key string, _ int64, _ time.Time) error {
		stored[key] = true
		data, err := read(t, s, key)
		if err == nil && !bytes.Equal(data, content(4*chunkSize)) {
			err = fmt.Errorf("original %s has other content", key)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, key := range safe {
		if !stored[key] {
			t.Errorf("original %s was acknowledged and is gone", key)
		}
	}
	if got, want := messages(t, s), uint64(len(stored)*5); got != want {
		t.Errorf("%d messages are stored, %d originals make %d", got, len(stored), want)
	}
}
