package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

const replayUsage = `usage: api replay --datastore ID | --all [--failed] [--since TIME] [--refresh] [--wait=false]
  --datastore ID   the datasources of one datastore
  --all            those of every datastore of every workspace
  --failed         only those whose status is error
  --since TIME     only those changed since: 2006-01-02, 2006-01-02T15:04:05Z, or 36h ago
  --refresh        fetch web content again; without it, what is kept is read again
  --wait=false     queue and return; otherwise the progress is shown until all are done
Replayed content goes behind all fresh content, and stays searchable meanwhile. The catalog is that of DATABASE_URL,
or of --data-dir or SLUICE_DATA_DIR; the service that does the work may be running, or be started later.`

// commandPoll is how often a command looks at how far what it waits for is.
const commandPoll = 500 * time.Millisecond

// replayCommand queues what the catalog holds once more.
func replayCommand(ctx context.Context, args, environ []string, out io.Writer) error {
	var f catalog.ReplayFilter
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&f.DatastoreID, "datastore", "", "")
	all := flags.Bool("all", false, "")
	flags.BoolVar(&f.Failed, "failed", false, "")
	since := flags.String("since", "", "")
	flags.BoolVar(&f.Fetch, "refresh", false, "")
	follow := flags.Bool("wait", true, "")
	dir := flags.String("data-dir", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, replayUsage)
		return nil
	case err != nil:
		return usageError{fmt.Errorf("%w\n%s", err, replayUsage)}
	case flags.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), replayUsage)}
	case f.DatastoreID == "" && !*all && !f.Failed && *since == "":
		return usageError{fmt.Errorf("what is to be replayed?\n%s", replayUsage)}
	case f.DatastoreID != "" && *all:
		return usageError{fmt.Errorf("--datastore names one datastore and --all every one: take one of them\n%s", replayUsage)}
	}
	if *since != "" {
		at, err := parseSince(*since, time.Now())
		if err != nil {
			return usageError{fmt.Errorf("--since %q: %w\n%s", *since, err, replayUsage)}
		}
		f.Since = at
	}
	c, err := openCatalog(ctx, environ, *dir)
	if err != nil {
		return err
	}
	defer c.Close()
	if f.DatastoreID != "" {
		if _, err := c.DatastoreByID(ctx, f.DatastoreID); err != nil {
			return err
		}
	}
	f.ReplayID, f.Priority, f.Force = domain.NewID(), catalog.PriorityReplay, true
	queued, err := queueReplay(ctx, c, f)
	fmt.Fprintf(out, "%s queued\n", counted(queued, "datasource"))
	if err != nil || queued == 0 || !*follow {
		return err
	}
	return watchReplay(ctx, c, f.ReplayID, newProgress(out))
}

func queueReplay(ctx context.Context, c *catalog.Catalog, f catalog.ReplayFilter) (queued int64, err error) {
	for cursor := ""; ; {
		n, next, err := c.Replay(ctx, f, cursor)
		queued += n
		if err != nil || next == "" {
			return queued, err
		}
		cursor = next
	}
}

// parseSince reads a date, a time, or how long ago.
func parseSince(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, errors.New("must be a date (2006-01-02), a time (2006-01-02T15:04:05Z) or how long ago (36h)")
}

// replays counts the datasources of a replay: all, those that are synched, and those that have failed.
type replays interface {
	ReplayProgress(ctx context.Context, id string) (total, done, failed int64, err error)
}

// watchReplay shows how far the replay is, until all is done or ctx ends. Leaving does not stop it. What was deleted
// meanwhile, or replaced by something newer, is no longer a part of it.
func watchReplay(ctx context.Context, c replays, id string, show progress) error {
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	for {
		total, synched, failed, err := c.ReplayProgress(ctx, id)
		if ctx.Err() != nil {
			show.end("the replay goes on without being watched")
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking at the replay's progress: %w", err)
		}
		show.update(synched+failed, failed, total)
		if synched+failed >= total {
			show.end("")
			if failed > 0 {
				return fmt.Errorf("%d of %s ended with an error: GET /datasources?status=error lists them, and why", failed, counted(total, "datasource"))
			}
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
