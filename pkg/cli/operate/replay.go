package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/domain"
)

// Polling interval of commands that wait.
const commandPoll = 500 * time.Millisecond

// replayCommand queues stored datasources again.
func (p commands) replayCommand() *cobra.Command {
	var f catalog.ReplayFilter
	var all, follow bool
	var since, dir string
	cmd := &cobra.Command{
		Use: "replay --datastore DATASTORE | --all [--failed] [--since TIME] [--refresh] [--wait=false]", DisableFlagsInUseLine: true,
		Short: "Process again what is kept", GroupID: cli.GroupOperate, Args: cli.NoArguments,
		Long: "Process again what is kept: after a change of model, engine or settings, or what has failed. Replayed content goes\n" +
			"behind all fresh content, and stays searchable meanwhile. The catalog is that of DATABASE_URL, or of --data-dir or\n" +
			"SLUICE_DATA_DIR; the service that does the work may be running, or be started later.",
		Example: "sluice replay --failed\nsluice replay --datastore Handbook\nsluice replay --all --refresh --wait=false",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.DatastoreID == "" && !all && !f.Failed && since == "":
				return cli.WithExit(cli.Misused, errors.New("what is to be replayed?"))
			case f.DatastoreID != "" && all:
				return cli.WithExit(cli.Misused, errors.New("--datastore names one datastore and --all every one: take one of them"))
			}
			return p.replay(cmd.Context(), f, since, dir, follow)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.DatastoreID, "datastore", "", "the datasources of one `datastore`, by id or name")
	flags.BoolVar(&all, "all", false, "those of every datastore of every workspace")
	flags.BoolVar(&f.Failed, "failed", false, "only those whose status is error")
	flags.StringVar(&since, "since", "", "only those changed since a `time`: 2006-01-02, 2006-01-02T15:04:05Z, or 36h ago")
	flags.BoolVar(&f.Fetch, "refresh", false, "fetch web content again; without it, what is kept is read again")
	flags.BoolVar(&follow, "wait", true, "show the progress until all are done; =false: queue and return")
	flags.StringVar(&dir, "data-dir", "", "data `directory` of the service (SLUICE_DATA_DIR)")
	return cmd
}

func (p commands) replay(ctx context.Context, f catalog.ReplayFilter, since, dir string, follow bool) error {
	if since != "" {
		at, err := parseSince(since, time.Now())
		if err != nil {
			return cli.Misusedf("--since %q: %w", since, err)
		}
		f.Since = at
	}
	c, err := openCatalog(ctx, p.Environ, dir)
	if err != nil {
		return err
	}
	defer c.Close()
	if f.DatastoreID != "" {
		if f.DatastoreID, err = findDatastore(ctx, c, f.DatastoreID); err != nil {
			return err
		}
	}
	f.ReplayID, f.Priority, f.Force = domain.NewID(), catalog.PriorityReplay, true
	queued, err := queueReplay(ctx, c, f)
	fmt.Fprintf(p.ProgressWriter(), "%s queued\n", cli.Counted(queued, "datasource"))
	if err != nil || queued == 0 || !follow {
		return errors.Join(err, p.replayed(queued))
	}
	return errors.Join(watchReplay(ctx, c.ReplayProgress, f.ReplayID, cli.NewProgress(p.ProgressWriter())), p.replayed(queued))
}

// replayed prints the number of queued datasources as JSON.
func (p commands) replayed(queued int64) error {
	if !p.JSON {
		return nil
	}
	return p.PrintJSON(map[string]int64{"queued": queued})
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

// parseSince parses a date, a time or a duration before now.
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

// replayProgress returns the number of datasources of a replay: all, synched and failed.
type replayProgress func(ctx context.Context, id string) (total, done, failed int64, err error)

// watchReplay shows the progress of the replay until it is complete or ctx ends. Ending it does not stop the replay.
// Datasources that are deleted, or queued again later, no longer count.
func watchReplay(ctx context.Context, progress replayProgress, id string, show cli.Progress) error {
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	for {
		total, synched, failed, err := progress(ctx, id)
		if ctx.Err() != nil {
			show.End("the replay goes on without being watched")
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking at the replay's progress: %w", err)
		}
		show.Update(synched+failed, failed, total)
		if synched+failed >= total {
			show.End("")
			if failed > 0 {
				return cli.WithExit(cli.Partly, fmt.Errorf("%d of %s ended with an error: sluice datastores show names them, and why", failed, cli.Counted(total, "datasource")))
			}
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
