package jobs

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

// The tests in this file run the test binary again as a child process and kill it. The child runs the server and the
// worker in one process, as small installations do.
const (
	envChild = "SLUICE_TEST_JOBS_CHILD" // the store's directory
	envRole  = "SLUICE_TEST_JOBS_ROLE"  // the child's task
)

const (
	rolePublish = "publish" // publish and handle jobs, printing those acknowledged, until killed
	roleSuicide = "suicide" // handle jobs with a handler that kills the process immediately
)

// child is the main function of the child process. It returns only if the process was not killed.
func child(dir string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	srv, err := natsd.Start(ctx, natsd.Options{Dir: dir, Log: quiet})
	if err != nil {
		return fail(err)
	}
	conn, err := Connect(ctx, ConnectOptions{InProcess: srv, Log: quiet})
	if err != nil {
		return fail(err)
	}
	b, err := Open(ctx, conn, Options{Log: quiet})
	if err != nil {
		return fail(err)
	}
	if os.Getenv(envRole) == roleSuicide {
		done := make(chan Outcome, 1)
		go func() {
			_ = b.Work(ctx, domain.LaneIngest, WorkerOptions{AckWait: 100 * time.Millisecond, RetryMin: time.Millisecond, RetryMax: time.Millisecond, Observe: func(o Outcome) { done <- o }},
				func(context.Context, domain.Job) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		}()
		o := <-done
		for o.Result == Held { // the job's lease expired while the job was being abandoned
			o = <-done
		}
		fmt.Println(o.Result)
		return 0
	}
	go func() {
		_ = b.Work(ctx, domain.LaneIngest, WorkerOptions{}, func(context.Context, domain.Job) error { return nil })
	}()
	for {
		job := newJob(domain.JobIngest)
		gen, err := b.Publish(ctx, job)
		if err != nil {
			return fail(err)
		}
		ev := event(job, domain.EventSynched)
		ev.Generation = gen
		if err := b.Emit(ctx, ev); err != nil {
			return fail(err)
		}
		fmt.Println(gen, job.ID)
	}
}

func startChild(t *testing.T, dir, role string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(testContext(t), os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+dir, envRole+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestAcknowledgedMessagesSurviveAKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nats")
	acked := map[uint64]string{}
	for round := range 5 {
		cmd, lines := startChild(t, dir, rolePublish)
		stop := 1 + rand.IntN(40) // number of acknowledgements before the kill
		for n := 0; lines.Scan(); n++ {
			gen, id, _ := strings.Cut(lines.Text(), " ")
			g, err := strconv.ParseUint(gen, 10, 64)
			if err != nil {
				t.Fatalf("child says %q", lines.Text())
			}
			if acked[g] != "" {
				t.Fatalf("round %d: generation %d was given out twice", round, g)
			}
			acked[g] = id
			if n == stop {
				_ = cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("round %d: child ended with %v", round, err)
		}
	}
	began := time.Now()
	srv := startServer(t, natsd.Options{Dir: dir})
	t.Logf("reopened after %d acknowledged jobs and 5 kills in %s", len(acked), time.Since(began))
	b := openBroker(t, connect(t, srv), Options{})
	if b.Reset() {
		t.Error("the job log was lost")
	}
	kept := map[uint64]string{}
	events := map[uint64]bool{}
	for _, j := range lastJobs(t, b, "") {
		kept[j.Generation] = j.ID
	}
	if err := scan(testContext(t), b, StreamEvents, "events.*.*", func(msg *jetstream.RawStreamMsg) error {
		ev, err := decodeEvent(msg.Subject, msg.Data)
		events[ev.Generation] = true
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for gen, id := range acked {
		if kept[gen] != id {
			t.Errorf("generation %d: stored is %q, acknowledged was %q", gen, kept[gen], id)
		}
		if !events[gen] {
			t.Errorf("generation %d: its event is lost", gen)
		}
	}
}

func TestAJobThatCrashesItsProcessBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nats")
	job := newJob(domain.JobIngest)
	func() {
		srv, err := natsd.Start(testContext(t), natsd.Options{Dir: dir, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := Connect(testContext(t), ConnectOptions{InProcess: srv, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		publish(t, openBroker(t, conn, Options{}), job)
		conn.Close()
		if err := srv.Shutdown(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}()
	for run := 1; ; run++ {
		cmd, lines := startChild(t, dir, roleSuicide)
		said := ""
		if lines.Scan() {
			said = lines.Text()
		}
		err := cmd.Wait()
		if run <= 3 {
			if err == nil {
				t.Fatalf("run %d: the child survived and said %q", run, said)
			}
			continue
		}
		if err != nil || said != string(Dead) {
			t.Fatalf("run %d: the child said %q and ended with %v, want %q", run, said, err, Dead)
		}
		break
	}
	b := openBroker(t, connect(t, startServer(t, natsd.Options{Dir: dir})), Options{})
	dead := deadLetters(t, b, job.DatastoreID)
	if len(dead) != 1 || dead[0].Crashes != 3 || dead[0].Job.ID != job.ID {
		t.Errorf("dead letters are %+v", dead)
	}
	if events := allEvents(t, b, job.DatastoreID); len(events) != 1 || events[0].Type != domain.EventError {
		t.Errorf("events are %+v", events)
	}
}
