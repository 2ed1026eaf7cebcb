//go:build linux

package natsd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"
)

// fullVariable is set in the environment of the process that runs the test. The test needs its own process because the
// file size limit, which simulates a full disk, applies to the whole process.
const fullVariable = "NATSD_TEST_FULL"

const testTimeout = time.Minute

func TestAServerRecoversFromAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getenv(fullVariable) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
		cmd.Env = append(os.Environ(), fullVariable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // otherwise a write beyond the limit kills the process
	s := start(t, Options{Listen: "127.0.0.1:0", Token: "secret"})
	address := s.URL()
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.Token("secret"), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(testContext(t), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	publish := func(ctx context.Context, id int) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // time limit of one attempt
		defer cancel()
		_, err := js.Publish(ctx, "s", []byte("x"), jetstream.WithMsgID(fmt.Sprint(id)), jetstream.WithRetryAttempts(0))
		return err
	}
	if err := errors.Join(publish(testContext(t), 1), s.Ready()); err != nil {
		t.Fatal(err)
	}

	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	limit := func(to uint64) {
		t.Helper()
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: to, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
	}
	limit(0)
	refused := make(chan error, 1)
	waiting, leave := context.WithCancel(testContext(t))
	defer leave()
	go func() { refused <- publish(waiting, 2) }()
	until(t, "the server is taken for ready though its disk is full", func() bool { return s.Ready() != nil })
	if err := probe(s.opts.Dir); err == nil {
		t.Error("the disk that is full takes a write")
	}
	leave() // the server does not answer
	if err := <-refused; err == nil {
		t.Error("a message was taken that cannot be stored")
	}
	limit(was.Cur)
	until(t, "the server is not ready though its disk has room again", func() bool { return s.Ready() == nil })
	until(t, "a message is not taken", func() bool { return publish(testContext(t), 3) == nil })
	stream, err := js.Stream(testContext(t), "S")
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.Msgs != 2 {
		t.Errorf("the stream has %d messages, of which 2 were taken", state.Msgs)
	}
	if s.URL() != address {
		t.Errorf("the server has moved from %s to %s", address, s.URL())
	}
}

// If a disk is mounted over the server's directory, or the directory's own disk is unmounted, the path leads to a
// different directory. The test achieves the same by replacing the directory.
func TestAServerDoesNotRestartInAnotherDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nats")
	said := make(chan string, 100)
	s := start(t, Options{Dir: dir, Log: slog.New(slog.NewTextHandler(lines(said), nil))})
	away := dir + "-unmounted"
	if err := errors.Join(os.Rename(dir, away), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	s.log.Errorf("Critical write error") // the server's message for a failed write
	for guard := time.After(testTimeout); ; {
		select {
		case line := <-said:
			if !strings.Contains(line, errReplaced.Error()) {
				continue
			}
		case <-guard:
			t.Fatal("the log does not say that the directory is another one")
		}
		break
	}
	if s.Ready() == nil {
		t.Error("the server is ready in another directory")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("the server has written %v, %v", files, err)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(away, dir)); err != nil {
		t.Fatal(err)
	}
	until(t, "it does not restart in its own directory", func() bool { return s.Ready() == nil })
}

type lines chan string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default: // the test no longer reads the lines
	}
	return len(line), nil
}

// until waits until ok returns true.
func until(t *testing.T, otherwise string, ok func() bool) {
	t.Helper()
	for guard := time.Now().Add(testTimeout); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(guard) {
			t.Fatal(otherwise)
		}
	}
}
