package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/faultproxy"
)

// Fault is one kind of fault.
type Fault struct {
	Name string
	// Hold is the maximum time between strike and heal.
	Hold time.Duration
	// strike starts the fault. It returns its target (`hit`) and a function that ends the fault (`heal`).
	strike func(context.Context, *rand.Rand) (hit string, heal func(context.Context) error, err error)
}

// Longest times between strike and heal. Another process may take over a paused ingestor's jobs after 30 seconds and a
// paused api process's requests after 10 seconds, so processes are paused for longer than that.
const (
	downTime      = 5 * time.Second
	engineDown    = 3 * time.Second
	apiPause      = 25 * time.Second
	ingestorPause = 45 * time.Second
	enginePause   = 15 * time.Second
	partitionTime = 25 * time.Second
)

// Faults returns the faults that this fleet supports.
func (f *Fleet) Faults() []Fault {
	faults := []Fault{
		{"kill an api process", downTime, f.killOne(&f.apis)},
		{"kill an ingestor", downTime, f.killOne(&f.ingestors)},
		{"stop a process", downTime, f.stopOne},
		{"kill a NATS server", engineDown, func(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
			s := f.nats.Servers[random.IntN(len(f.nats.Servers))]
			return s.Addr(), s.Restart, s.Kill()
		}},
		{"kill PostgreSQL", engineDown, func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
			return "", f.postgres.Restart, f.postgres.Kill()
		}},
		{"kill Milvus", engineDown, func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
			return "", f.milvus.Restart, f.milvus.Kill()
		}},
		{"pause an api process", apiPause, f.pauseOne(&f.apis)},
		{"pause an ingestor", ingestorPause, f.pauseOne(&f.ingestors)},
		{"pause an engine", enginePause, f.pauseEngine},
		{"partition a process", partitionTime, f.partition},
		{"flip a bit of NATS", engineDown, f.flipBit},
	}
	if f.Clock != "" {
		faults = append(faults, Fault{"jump the clock", partitionTime, f.jump})
	}
	return faults
}

// Command returns a fault caused by an external program, such as a power loss. The program's argument is first strike
// and later heal.
func Command(path string) Fault {
	call := func(ctx context.Context, word string) error {
		out, err := exec.CommandContext(ctx, path, word).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", path, word, err, out)
		}
		return nil
	}
	return Fault{"run " + filepath.Base(path), engineDown, func(ctx context.Context, _ *rand.Rand) (string, func(context.Context) error, error) {
		return "", func(ctx context.Context) error { return call(ctx, "heal") }, call(ctx, "strike")
	}}
}

func (f *Fleet) killOne(of *[]*process) func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
	return func(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
		p := (*of)[random.IntN(len(*of))]
		return p.name, func(context.Context) error { return p.start() }, p.kill()
	}
}

func (f *Fleet) stopOne(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
	all := f.processes()
	p := all[random.IntN(len(all))]
	return p.name, func(context.Context) error { return p.start() }, p.terminate()
}

func (f *Fleet) pauseOne(of *[]*process) func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
	return func(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
		p := (*of)[random.IntN(len(*of))]
		return p.name, func(context.Context) error { return p.resume() }, p.pause()
	}
}

func (f *Fleet) pauseEngine(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
	type engine interface {
		Pause() error
		Resume() error
	}
	name, e := "PostgreSQL", engine(f.postgres)
	switch n := random.IntN(2 + len(f.nats.Servers)); n {
	case 0:
	case 1:
		name, e = "Milvus", f.milvus
	default:
		name, e = fmt.Sprintf("NATS server %d", n-1), f.nats.Servers[n-2]
	}
	return name, func(context.Context) error { return e.Resume() }, e.Pause()
}

// partition cuts a process off from one server or from all NATS servers.
func (f *Fleet) partition(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
	chosen := f.links[random.IntN(len(f.links))]
	cut := []link{chosen}
	if strings.HasPrefix(chosen.server, "NATS") && random.IntN(2) == 0 {
		cut = nil
		for _, l := range f.links {
			if l.process == chosen.process && strings.HasPrefix(l.server, "NATS") {
				cut = append(cut, l)
			}
		}
	}
	modes := map[string]faultproxy.Mode{
		"refused": faultproxy.Refuse(), "silent": faultproxy.Blackhole(), "slow": faultproxy.Slow(50*time.Millisecond, 1<<20),
		"cut off": faultproxy.CutAfter(1 + random.Int64N(20_000)), "flapping": faultproxy.Flap(500*time.Millisecond, 500*time.Millisecond),
	}
	names := []string{"refused", "silent", "slow", "cut off", "flapping"}
	name := names[random.IntN(len(names))]
	for _, l := range cut {
		l.proxy.Set(modes[name])
	}
	hit := fmt.Sprintf("%s from %s (%d connections), %s", chosen.process, chosen.server, len(cut), name)
	return hit, func(context.Context) error {
		for _, l := range cut {
			l.proxy.Set(faultproxy.Pass())
		}
		return nil
	}, nil
}

// flipBit kills a NATS server, flips a bit in one of its files and starts it again. It always picks the same server, so
// the other two replicas of everything stay intact. If the server doesn't start, flipBit removes its data, as
// docs/deployment.md describes, and the cluster fills it again.
func (f *Fleet) flipBit(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
	s := f.nats.Servers[f.damaged]
	if err := s.Kill(); err != nil {
		return "", nil, err
	}
	hit, err := flip(filepath.Join(s.Dir(), "jetstream"), random)
	return hit, func(ctx context.Context) error {
		err := s.Restart(ctx)
		if err == nil {
			return nil
		}
		fmt.Fprintf(f.Out, "         NATS server %d does not start with the damage, so its data is removed: %v\n", f.damaged+1, err)
		if err := os.RemoveAll(filepath.Join(s.Dir(), "jetstream")); err != nil {
			return err
		}
		return s.Restart(ctx)
	}, err
}

// flip flips a bit in one of the files below a directory.
func flip(dir string, random *rand.Rand) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if info, err := e.Info(); err != nil || info.Size() == 0 {
			return err
		}
		files = append(files, path)
		return nil
	})
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, fmt.Errorf("%d files below %s", len(files), dir))
	}
	path := files[random.IntN(len(files))]
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	at, bit := random.IntN(len(content)), random.IntN(8)
	content[at] ^= 1 << bit
	name, _ := filepath.Rel(dir, path)
	return fmt.Sprintf("bit %d of byte %d of %s", bit, at, name), os.WriteFile(path, content, 0o600)
}

// jump sets all processes' clocks ahead or back, and returns a function that corrects them.
func (f *Fleet) jump(_ context.Context, random *rand.Rand) (string, func(context.Context) error, error) {
	jumps := []time.Duration{-24 * time.Hour, -time.Hour, time.Hour, 24 * time.Hour}
	by := jumps[random.IntN(len(jumps))]
	return by.String(), func(context.Context) error { return setClock(f.Clock, 0) }, setClock(f.Clock, by)
}

// calm is the maximum pause between faults. With probability 1/oneTogether, two faults are injected at once.
const (
	calm        = 8 * time.Second
	oneTogether = 3
)

// Disturb injects every fault equally often, in random order, until the context is done. It then repairs everything and
// returns how often it injected each fault.
func Disturb(ctx context.Context, faults []Fault, random *rand.Rand, out io.Writer, began time.Time) (map[string]int, error) {
	strikes := map[string]int{}
	var turn []int
	next := func() Fault {
		if len(turn) == 0 {
			turn = random.Perm(len(faults))
		}
		n := turn[0]
		turn = turn[1:]
		return faults[n]
	}
	for len(faults) > 0 && wait(ctx, time.Duration(random.Int64N(int64(calm)))) {
		var heals []func(context.Context) error
		var hold time.Duration
		n := 1
		if random.IntN(oneTogether) == 0 {
			n = 2
		}
		for range n {
			fault := next()
			hit, heal, err := fault.strike(context.WithoutCancel(ctx), random)
			if heal != nil {
				heals = append(heals, heal)
			}
			if err != nil {
				return strikes, errors.Join(fmt.Errorf("%s: %w", fault.Name, err), healAll(heals))
			}
			hold = max(hold, time.Duration(random.Int64N(int64(fault.Hold))))
			strikes[fault.Name]++
			fmt.Fprintf(out, "%8.3fs  %s %s\n", time.Since(began).Seconds(), fault.Name, hit)
		}
		wait(ctx, hold)
		if err := healAll(heals); err != nil {
			return strikes, err
		}
	}
	return strikes, nil
}

// Time limit for ending a fault. A killed Milvus may take nearly that long to restart.
const healTimeout = 5 * time.Minute

func healAll(heals []func(context.Context) error) error {
	var faults []error
	for _, heal := range heals {
		ctx, cancel := context.WithTimeout(context.Background(), healTimeout)
		faults = append(faults, heal(ctx))
		cancel()
	}
	return errors.Join(faults...)
}

// wait waits for d. It returns false if the context is done.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
