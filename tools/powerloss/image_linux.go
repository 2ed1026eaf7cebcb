package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice/sluice/tools/powerloss/check"
	"github.com/sluice/sluice/tools/powerloss/disk"
	"github.com/sluice/sluice/tools/powerloss/load"
)

const (
	dataDir      = "data" // the service's directory on the file system
	imageTimeout = 5 * time.Minute
	maxKept      = 3  // images to keep
	maxPrinted   = 10 // findings to print per image

	// How long the service runs before the second power loss.
	minAgain, maxAgain = 20 * time.Millisecond, 1500 * time.Millisecond
)

// image is the state of a disk after a power cut, along with the documents that must be on it.
type image struct {
	cut
	disk     *disk.Disk
	expected load.Expected
	loss     disk.Loss
	random   *rand.Rand
	began    time.Time
}

// take cuts the power and returns an image with the data that survived on the disk.
func (r *runner) take(ctx context.Context, d *disk.Disk, ledger *load.Ledger, c cut) *image {
	i := &image{cut: c, random: rand.New(rand.NewPCG(c.seed, 1)), began: time.Now()}
	at := func() { i.expected = ledger.Expected() }
	if !c.atFlush {
		i.disk, i.loss = d.Cut(c.keep, i.random, at)
		return i
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	i.disk, i.loss = d.CutAtFlush(ctx, c.keep, i.random, at)
	return i
}

// check starts the service on an image and compares everything. An error means that the check itself failed.
func (r *runner) check(ctx context.Context, i *image) (report check.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	root := filepath.Join(r.dir, fmt.Sprintf("image-%d", i.number))
	log, err := os.Create(root + ".log")
	if err != nil {
		return report, err
	}
	defer log.Close()
	original := i.disk.Clone()
	d := i.disk
	if i.again {
		d, err = r.recover(ctx, i, root, log)
	}
	if err == nil {
		report, err = r.compare(ctx, i, d, root, log)
	}
	if unusable, ok := errors.AsType[unusableError](err); ok && ctx.Err() == nil {
		n := i.expected.Acknowledged()
		report, err = check.Report{Documents: n, Lost: n, Findings: []string{unusable.Error()}}, nil
	}
	switch {
	case err != nil:
		return report, err
	case len(report.Findings) == 0 || i.control:
		return report, os.Remove(log.Name())
	default:
		return report, r.keep(original, root+".img")
	}
}

// unusableError means that an image can't be mounted, or that the service doesn't start on it.
type unusableError struct{ error }

// recover starts the service on an image, cuts the power again while it is starting or soon after, and returns the
// resulting image.
func (r *runner) recover(ctx context.Context, i *image, root string, log *os.File) (again *disk.Disk, err error) {
	v, err := openImage(ctx, i.disk, root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	started := make(chan error, 1)
	starting, stop := context.WithCancel(ctx)
	go func() {
		s, err := r.start(starting, log, v)
		switch {
		case err == nil:
			<-starting.Done()
		case starting.Err() != nil:
			err = nil // stopped before it was ready
		default:
			err = unusableError{err}
		}
		_ = s.close() // after a stop at any moment, errors mean nothing
		started <- err
	}()
	err = pause(ctx, minAgain+time.Duration(i.random.Int64N(int64(maxAgain-minAgain))))
	waiting, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	again, _ = i.disk.CutAtFlush(waiting, disk.KeepHalf, i.random, nil)
	stop()
	return again, errors.Join(err, <-started)
}

// compare starts the service on a disk and compares its documents with what is expected.
func (r *runner) compare(ctx context.Context, i *image, d *disk.Disk, root string, log *os.File) (report check.Report, err error) {
	v, err := openImage(ctx, d, root)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	s, err := r.start(ctx, log, v)
	if err != nil {
		return report, unusableError{errors.Join(err, s.close())}
	}
	report, err = check.Documents(ctx, s.client, i.expected, i.random)
	dir := filepath.Join(v.dir(), dataDir)
	if err == nil {
		err = compareInto(ctx, &report, check.Comparison{Dir: dir, Program: r.program})
	}
	if stopped := s.close(); stopped != nil && ctx.Err() == nil {
		report.Findings = append(report.Findings, stopped.Error())
	}
	if err == nil {
		err = compareInto(ctx, &report, check.Comparison{Dir: dir, Interrupted: i.expected.Sent(), Replaced: i.expected.Replaced()})
	}
	return report, err
}

// openImage mounts an image's file system.
func openImage(ctx context.Context, d *disk.Disk, root string) (*volume, error) {
	v, err := openVolume(ctx, d, root)
	if _, ok := errors.AsType[mountError](err); ok {
		err = unusableError{err}
	}
	return v, err
}

// compareInto adds a comparison's findings to the report.
func compareInto(ctx context.Context, report *check.Report, c check.Comparison) error {
	findings, err := compare(ctx, c)
	report.Findings = append(report.Findings, findings...)
	return err
}

// keep writes an image to a file, unless there are already enough.
func (r *runner) keep(d *disk.Disk, path string) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keptImages) == maxKept {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r.keptImages = append(r.keptImages, path)
	return errors.Join(f.Truncate(d.Size()), d.WriteSparse(f))
}

// print prints an image's result, with the findings unless it is from the control run, which is expected to lose data.
func (r *runner) print(i *image, report check.Report) {
	fmt.Fprintf(r.out, "image %d (%s; %s): %d documents checked, %d lost, findings: %d, %.1f s\n",
		i.number, i.cut, i.loss, report.Documents, report.Lost, len(report.Findings), time.Since(i.began).Seconds())
	if i.control {
		return
	}
	for n, f := range report.Findings {
		if n == maxPrinted {
			fmt.Fprintf(r.out, "  and %d more\n", len(report.Findings)-n)
			break
		}
		fmt.Fprintf(r.out, "  %s\n", f)
	}
}
