package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/tools/internal/bench"
	"github.com/sluice/sluice/tools/powerloss/disk"
	"github.com/sluice/sluice/tools/powerloss/load"
)

const (
	diskSize       = 1 << 30 // takes memory only for blocks with content
	probeSize      = 8 << 20
	imagesPerRound = 10 // per disk; the run then continues on an empty one
	checkers       = 2  // images to check at once
	flushTimeout   = time.Second

	// Bounds on the pause before a power cut. A round's first pause is at most maxStart, so the power may fail while the
	// service is starting.
	minPause, maxPause = 200 * time.Millisecond, 1500 * time.Millisecond
	maxStart           = time.Second
	controlPause       = 4 * time.Second // long enough for acknowledged documents, some of which the control must lose

	key        = "sk_powerloss_0123456789abcdef0123456789" // a key in the data directory might be lost
	noBarriers = "nobarrier"                               // mount option for the control: never flush the disk
)

// kinds lists the kinds of power cuts, which are used in rotation.
var kinds = []disk.Keep{disk.KeepHalf, disk.KeepNone, disk.KeepHalf, disk.KeepAll}

// One in againEvery images loses power a second time, while the service is recovering.
const againEvery = 4

// cut describes one power loss.
type cut struct {
	number  int // from 1
	keep    disk.Keep
	atFlush bool // fail just before a flush
	again   bool // fail again while the service is recovering
	control bool // the file system doesn't flush
	pause   time.Duration
	seed    uint64
}

// String implements fmt.Stringer.
func (c cut) String() string {
	s := fmt.Sprintf("keep %s", c.keep)
	if c.atFlush {
		s += ", at a flush"
	}
	if c.again {
		s += ", again during recovery"
	}
	return s
}

// runner runs the command inside the namespaces.
type runner struct {
	flags
	dir    string // temporary directory
	out    io.Writer
	random *rand.Rand

	mu         sync.Mutex
	keptImages []string
}

// probe mounts a small simulated disk to find out whether this machine can do so.
func (r *runner) probe(ctx context.Context) error {
	v, err := newVolume(ctx, disk.New(probeSize), filepath.Join(r.dir, "probe"), "")
	if err != nil {
		return err
	}
	return v.close()
}

// run runs the control round, which must lose writes, and then more rounds until there are enough images.
func (r *runner) run(ctx context.Context) error {
	began := time.Now()
	fmt.Fprintf(r.out, "Seed %d. Control, a file system that never flushes its disk:\n", r.seed)
	control, err := r.round(ctx, noBarriers, []cut{
		{number: 1, keep: disk.KeepNone, control: true, pause: controlPause, seed: r.random.Uint64()},
		{number: 2, keep: disk.KeepHalf, control: true, pause: maxPause, seed: r.random.Uint64()},
		{number: 3, keep: disk.KeepHalf, control: true, pause: maxPause, seed: r.random.Uint64()},
	})
	if err != nil {
		return fmt.Errorf("running the control: %w", err)
	}
	if control.documents == 0 || control.lost == 0 {
		return fmt.Errorf("the control lost none of %d documents, so this command would not notice a loss", control.documents)
	}
	fmt.Fprintf(r.out, "The control lost %d of %d acknowledged documents, as it must. With flushes:\n", control.lost, control.documents)
	var sum totals
	for done := 0; done < r.images; {
		var cuts []cut
		for range min(imagesPerRound, r.images-done) {
			cuts = append(cuts, r.cut(done, len(cuts) == 0))
			done++
		}
		got, err := r.round(ctx, "", cuts)
		sum.add(got)
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(r.out, "%d images in %v: %d acknowledged documents checked, %d lost; findings: %d. The control lost %d of %d.\n",
		sum.images, time.Since(began).Round(time.Second), sum.documents, sum.lost, sum.findings, control.lost, control.documents)
	if sum.findings > 0 {
		return fmt.Errorf("findings on %d images: %d", sum.images, sum.findings)
	}
	return nil
}

// cut returns the n-th cut, counting from 0.
func (r *runner) cut(n int, first bool) cut {
	c := cut{
		number: n + 1, keep: kinds[n%len(kinds)], atFlush: r.random.IntN(3) > 0, again: n%againEvery == againEvery-2,
		pause: minPause + time.Duration(r.random.Int64N(int64(maxPause-minPause))), seed: r.random.Uint64(),
	}
	if first {
		c.pause = time.Duration(r.random.Int64N(int64(maxStart)))
	}
	return c
}

// totals sums up checked images.
type totals struct{ images, documents, lost, findings int }

func (t *totals) add(more totals) {
	t.images += more.images
	t.documents += more.documents
	t.lost += more.lost
	t.findings += more.findings
}

// round runs the service under load on an empty disk, makes the given power cuts and checks the images.
func (r *runner) round(ctx context.Context, mountOptions string, cuts []cut) (sum totals, err error) {
	d := disk.New(diskSize)
	v, err := newVolume(ctx, d, filepath.Join(r.dir, "live"), mountOptions)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	log, err := os.Create(filepath.Join(r.dir, "live.log"))
	if err != nil {
		return sum, err
	}
	defer log.Close()

	ledger := load.NewLedger()
	working, ctx := errgroup.WithContext(ctx)
	loading, stop := context.WithCancel(ctx)
	working.Go(func() error { return r.load(loading, log, v, ledger) })
	working.Go(func() error {
		defer stop()
		var err error
		sum, err = r.cuts(ctx, d, ledger, cuts)
		return err
	})
	err = working.Wait()
	return sum, err
}

// load starts the service on a volume and changes documents until ctx is done.
func (r *runner) load(ctx context.Context, log *os.File, v *volume, ledger *load.Ledger) error {
	s, err := r.start(context.WithoutCancel(ctx), log, v)
	if err == nil {
		err = load.Run(ctx, s.client, ledger, r.seed)
	}
	return errors.Join(err, s.close())
}

// cuts makes the cuts and checks their images while the load continues.
func (r *runner) cuts(ctx context.Context, d *disk.Disk, ledger *load.Ledger, cuts []cut) (sum totals, err error) {
	free := make(chan struct{}, checkers)
	var mu sync.Mutex
	checking, ctx := errgroup.WithContext(ctx)
	for _, c := range cuts {
		if pause(ctx, c.pause) != nil {
			break
		}
		select { // wait for a free checker, so that only a few images are in memory
		case free <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		i := r.take(ctx, d, ledger, c)
		checking.Go(func() error {
			defer func() { <-free }()
			report, err := r.check(ctx, i)
			if err != nil {
				return fmt.Errorf("checking image %d: %w", c.number, err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.add(totals{1, report.Documents, report.Lost, len(report.Findings)})
			r.print(i, report)
			return nil
		})
	}
	stopped := ctx.Err() // read before Wait ends ctx
	return sum, cmp.Or(checking.Wait(), stopped)
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// service is a running service and its client.
type service struct {
	*bench.Service
	client *client.Client
}

// start starts the service on a volume. The caller must call close, even if start fails.
func (r *runner) start(ctx context.Context, log *os.File, v *volume) (*service, error) {
	s := &service{}
	var err error
	s.Service, err = bench.StartWith(ctx, bench.Options{
		Program: r.program, Dir: filepath.Join(v.dir(), dataDir), Key: key, Log: log,
		Env: []string{"SLUICE_LIMIT_DISK=0", "SLUICE_ADMISSION_WAIT=1m"}, // the disk is small and the CPUs may be busy
	})
	if err != nil {
		return s, err
	}
	s.client, err = client.New(s.Address, s.Key)
	return s, err
}

func (s *service) close() error {
	if s.client != nil {
		s.client.Close()
	}
	return s.Close()
}
