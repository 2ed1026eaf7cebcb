package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/cli/operate"
	"github.com/sluice/sluice/pkg/datadir"
)

const (
	sweepTimeout = time.Minute // until replaced and deleted data is gone
	sweepPoll    = 50 * time.Millisecond
	agreement    = "index, originals, job log and catalog agree" // ends the output of a repair without findings
)

// Comparison compares the parts of a service's stored data with each other, to find data that belongs to no document.
type Comparison struct {
	Dir string // the data directory
	// Program is the service's program. If it is set, the service is running: the comparison waits until replaced and
	// deleted data is gone, and then runs the command that compares index, originals, job log and catalog. If it is "",
	// the service is stopped, and the comparison looks for stray originals.
	Program string
	// Interrupted is the number of interrupted requests. Replaced is the number of originals that were replaced or
	// deleted. Each of them may have left one original behind, which the service removes an hour later: NATS doesn't sync
	// a removal at once, so a removed original may come back.
	Interrupted, Replaced int
}

// Run returns the differences as findings.
func (c Comparison) Run(ctx context.Context) (findings []string, err error) {
	if c.Program == "" {
		return c.strayOriginals(ctx)
	}
	return differences(ctx, c.Program, c.Dir)
}

// strays matches the last line of a repair that found only removed documents' data.
var strays = regexp.MustCompile(`checked: stray (rows|originals): \d+(, stray (rows|originals): \d+)?$`)

// differences waits until replaced and deleted data is gone, and then runs a repair. A power loss can bring back data
// whose removal was not synced. Such data is not searchable, and the service removes it later. So the first repair may
// find such data, but the next repair must not.
func differences(ctx context.Context, program, dir string) (findings []string, err error) {
	for try := 1; ; try++ {
		if findings, err := swept(ctx, dir); err != nil || len(findings) > 0 {
			return findings, err
		}
		if findings, err = repair(ctx, program, dir); err != nil || try == 2 || len(findings) != 1 || !strays.MatchString(findings[0]) {
			return findings, err
		}
	}
}

// swept waits until replaced and deleted data is gone.
func swept(ctx context.Context, dir string) (findings []string, err error) {
	c, err := openCatalog(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	waiting, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	poll := time.NewTicker(sweepPoll)
	defer poll.Stop()
	for {
		due, err := c.Sweeps(ctx, 1)
		if err != nil || len(due) == 0 {
			return nil, err
		}
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return []string{fmt.Sprintf("replaced and deleted data is not removed after %v", sweepTimeout)}, nil
		case <-poll.C:
		}
	}
}

// repair runs the command that compares everything the service stores, and returns the differences.
func repair(ctx context.Context, program, dir string) (findings []string, err error) {
	cmd := exec.CommandContext(ctx, program, "repair", "--json", "--data-dir", dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return []string{fmt.Sprintf("sluice repair: %v: %s", err, strings.TrimSpace(errs.String()))}, nil
	}
	var done struct{ Said []string }
	if err := json.Unmarshal(out.Bytes(), &done); err != nil {
		return nil, fmt.Errorf("reading the output of sluice repair: %w", err)
	}
	if n := len(done.Said); n == 0 || !strings.HasSuffix(done.Said[n-1], agreement) {
		return []string{"sluice repair: " + strings.Join(done.Said, "; ")}, nil
	}
	return nil, nil
}

func (c Comparison) strayOriginals(ctx context.Context) (findings []string, err error) {
	records, err := openCatalog(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	store, closes, err := operate.OpenOriginals(ctx, filepath.Join(c.Dir, datadir.NATS), true)
	defer func() {
		if fault := closes(); err == nil {
			err = fault
		}
	}()
	if err != nil {
		return nil, err
	}
	stray := map[string]bool{}
	if err := store.Each(ctx, func(key string, _ int64, _ time.Time) error { stray[key] = true; return nil }); err != nil {
		return nil, err
	}
	err = records.EachOriginal(ctx, func(o catalog.OriginalRef) error { delete(stray, o.Key); return nil })
	if err == nil && len(stray) > c.Interrupted+c.Replaced {
		findings = []string{fmt.Sprintf("%d originals belong to no datasource, but %d requests were interrupted and %d originals replaced or deleted",
			len(stray), c.Interrupted, c.Replaced)}
	}
	return findings, err
}

func openCatalog(ctx context.Context, dir string) (*catalog.Catalog, error) {
	c, err := catalog.Open(ctx, catalog.Options{Path: filepath.Join(dir, datadir.Catalog), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("opening the catalog: %w", err)
	}
	return c, nil
}
