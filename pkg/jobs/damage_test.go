package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

// everyDamage reports whether to damage about forty bytes in every file instead of three bytes in one file of each
// kind.
func everyDamage() bool { return os.Getenv("TEST_DAMAGE") != "" }

// stockedServer creates a stopped server that has finished and unfinished jobs. It returns the server's directory and
// the unfinished jobs.
func stockedServer(t *testing.T) (dir string, unfinished []domain.Job) {
	t.Helper()
	dir = t.TempDir()
	t.Run("stocking", func(t *testing.T) {
		b := openBroker(t, connect(t, startServer(t, natsd.Options{Dir: dir, NoSync: true})), Options{})
		applied := make(chan string, 10)
		consume(t, b, func(_ context.Context, ev domain.Event) error { applied <- ev.JobID; return nil })
		w := work(t, b, domain.LaneIngest, WorkerOptions{AckWait: shortAckWait}, func(ctx context.Context, j domain.Job) error {
			return b.Emit(ctx, event(j, domain.EventSynched))
		})
		for range 4 {
			publish(t, b, newJob(domain.JobIngest))
			receive(t, w.outcomes, "a job")
			receive(t, applied, "an event")
		}
		if err := b.checkpointAll(testContext(t)); err != nil {
			t.Fatal(err)
		}
		w.stop(t)
		for range 2 {
			unfinished = append(unfinished, newJob(domain.JobIngest))
			publish(t, b, unfinished[len(unfinished)-1])
		}
	})
	return dir, unfinished
}

var (
	idInPath   = regexp.MustCompile(`[^/]+/(obs|msgs)/`)
	nameInPath = regexp.MustCompile(`[0-9]+|[^/]+/(o\.dat|meta\.)`)
)

// serverFiles lists the server's non-empty files: all of them if everyDamage is set, and otherwise one of each kind. If
// several streams have a file of the same kind, it prefers the one that belongs to the jobs stream.
func serverFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(files, func(a, b string) int {
		return strings.Count(b, StreamJobs) - strings.Count(a, StreamJobs)
	})
	kinds := map[string]bool{}
	files = slices.DeleteFunc(files, func(name string) bool {
		kind := nameInPath.ReplaceAllString(idInPath.ReplaceAllString(filepath.ToSlash(name), "$1/"), "*$1")
		seen := kinds[kind]
		kinds[kind] = true
		return seen && !everyDamage()
	})
	if len(kinds) != 8 {
		t.Fatalf("there are %d kinds of files: %q", len(kinds), files)
	}
	return files
}

// TestADamagedServerFile flips bits in a server's files. The server must still start, and new jobs must be handled and
// their events applied. Earlier unfinished jobs must either be handled or be recognised as lost, so that they are
// issued again.
func TestADamagedServerFile(t *testing.T) {
	t.Parallel()
	dir, unfinished := stockedServer(t)
	for _, file := range serverFiles(t, dir) {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, len(content)/40)
		if !everyDamage() {
			step = max(1, (len(content)-1)/2)
		}
		for at := 0; at < len(content); at += step {
			t.Run(fmt.Sprintf("%s: byte %d of %d", file, at, len(content)), func(t *testing.T) {
				damaged := filepath.Join(t.TempDir(), "nats")
				if err := os.CopyFS(damaged, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				flipped := slices.Clone(content)
				flipped[at] ^= 1 << (at % 8)
				if err := os.WriteFile(filepath.Join(damaged, file), flipped, 0o600); err != nil {
					t.Fatal(err)
				}
				worksOn(t, damaged, unfinished)
			})
		}
	}
}

// worksOn starts a server in the directory and checks that jobs are handled.
func worksOn(t *testing.T, dir string, unfinished []domain.Job) {
	t.Helper()
	b := openBroker(t, connect(t, startServer(t, natsd.Options{Dir: dir, NoSync: true})), Options{})
	ran, applied := make(chan string, 100), make(chan string, 100)
	consume(t, b, func(_ context.Context, ev domain.Event) error { applied <- ev.JobID; return nil })
	work(t, b, domain.LaneIngest, WorkerOptions{Concurrency: 1, AckWait: shortAckWait}, func(ctx context.Context, j domain.Job) error {
		if err := b.Emit(ctx, event(j, domain.EventSynched)); err != nil {
			return err
		}
		ran <- j.ID
		return nil
	})
	job := newJob(domain.JobIngest)
	publish(t, b, job)
	done := map[string]bool{}
	for !done[job.ID] {
		done[receive(t, ran, "the new job")] = true
	}
	for id := ""; id != job.ID; {
		id = receive(t, applied, "the event of the new job")
	}
	for _, u := range unfinished {
		for !done[u.ID] {
			outstanding, err := b.Outstanding(testContext(t), u)
			if err != nil {
				t.Fatal(err)
			}
			if !outstanding {
				break // recognised as lost
			}
			done[receive(t, ran, "a job that is not lost")] = true // jobs may arrive in a different order
		}
	}
}
