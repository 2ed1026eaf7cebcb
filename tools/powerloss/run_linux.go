package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice/sluice/tools/internal/bench"
	"github.com/sluice/sluice/tools/powerloss/check"
)

// partVariable is the environment variable that selects the part of the command that a child process runs.
const partVariable = "POWERLOSS_PART"

// Parts of the command that run in separate processes.
const (
	partInside = "inside" // everything, in new namespaces
	partStored = "stored" // compares a data directory with itself; see stored
)

// How long the processes may take to remove their mounts after a signal.
const stopTimeout = time.Minute

// flags holds the command's flags.
type flags struct {
	program string
	images  int
	seed    uint64
	skip    bool
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	if os.Getenv(partVariable) == partStored {
		return stored(ctx, args, out)
	}
	var f flags
	set := bench.NewFlags("powerloss", errs)
	set.Path(&f.program, "api", "", "bin/sluice", "the service's program")
	set.IntVar(&f.images, "images", 100, "number of images to check")
	set.Uint64Var(&f.seed, "seed", rand.Uint64(), "seed of the load and of the surviving blocks; the moments of the cuts differ in every run")
	set.BoolVar(&f.skip, "skip", false, "succeed without doing anything if this machine cannot run the command")
	if err := set.Parse(args); err != nil {
		return err
	}
	if f.images < 1 {
		return fmt.Errorf("-images is %d; it must be at least 1", f.images)
	}
	if _, err := os.Stat(f.program); err != nil {
		return fmt.Errorf("%w; make build builds the program", err)
	}
	if os.Getenv(partVariable) == partInside {
		return inside(ctx, f, out)
	}
	lack := lacking()
	if lack == nil {
		err := enter(ctx, args)
		if !errors.Is(err, unix.EPERM) {
			return err
		}
		lack = fmt.Errorf("mounting file systems needs the capability CAP_SYS_ADMIN, which this container lacks: %w", err)
	}
	return f.cannot(lack, out)
}

// errCannot means that the command can't run on this machine.
var errCannot = errors.New("this machine cannot run the command")

// cannot reports what this machine lacks. With the -skip flag, it prints a line and returns nil; otherwise it returns
// an error.
func (f flags) cannot(lack error, out io.Writer) error {
	if f.skip {
		fmt.Fprintf(out, "powerloss: skipped: %v\n", lack)
		return nil
	}
	return fmt.Errorf("%w: %w", errCannot, lack)
}

// lacking returns an error that says what this machine lacks, or nil.
func lacking() error {
	if os.Geteuid() != 0 {
		return errors.New("mounting file systems needs root; run it as root, for example with sudo")
	}
	for _, device := range []string{"/dev/fuse", "/dev/loop-control"} {
		f, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("simulating a disk needs FUSE and loop devices: %w", err)
		}
		f.Close()
	}
	for _, program := range []string{"mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("making and mounting an ext4 file system needs e2fsprogs and mount: %w", err)
		}
	}
	return nil
}

// enter runs the command again in new mount and PID namespaces. When that process exits, for whatever reason, the
// kernel kills all its children and removes all its mounts, which also frees their loop devices.
func enter(ctx context.Context, args []string) error {
	runtime.LockOSThread() // the child dies with the thread that started it
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), partVariable+"="+partInside)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		os.Exit(exit.ExitCode()) // it has already reported its error
	}
	if err != nil {
		return fmt.Errorf("running in new namespaces: %w", err)
	}
	return nil
}

// inside is the part of the command that runs inside its namespaces.
func inside(ctx context.Context, f flags, out io.Writer) (err error) {
	if err := errors.Join(
		os.Unsetenv(partVariable),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), // keep the mounts below inside this namespace
		unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""),
	); err != nil {
		return fmt.Errorf("preparing the namespaces: %w", err)
	}
	dir, err := os.MkdirTemp("", "sluice-powerloss-")
	if err != nil {
		return err
	}
	r := &runner{flags: f, dir: dir, out: out, random: rand.New(rand.NewPCG(f.seed, 0))}
	defer func() {
		if len(r.keptImages) > 0 {
			fmt.Fprintf(out, "Images and logs of failed checks are in %s.\n", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := r.probe(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return f.cannot(err, out)
	}
	if err := r.run(ctx); ctx.Err() != nil {
		return errors.New("interrupted") // other errors are consequences
	} else if err != nil {
		return err
	}
	return nil
}

// stored runs a comparison and prints its findings as JSON. The comparison needs a separate process, because the
// process that serves a disk must not wait for that disk.
func stored(ctx context.Context, args []string, out io.Writer) error {
	var comparison check.Comparison
	if len(args) != 1 {
		return errors.New("expected one argument, the comparison as JSON")
	}
	if err := json.Unmarshal([]byte(args[0]), &comparison); err != nil {
		return err
	}
	findings, err := comparison.Run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(findings)
}

// compare runs a comparison in another process and returns its findings.
func compare(ctx context.Context, c check.Comparison) (findings []string, err error) {
	argument, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", string(argument))
	cmd.Env = append(slices.Clone(os.Environ()), partVariable+"="+partStored)
	text, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return []string{"comparing the stored data: " + string(exit.Stderr)}, nil
	}
	if err != nil {
		return nil, err
	}
	return findings, json.Unmarshal(text, &findings)
}
