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

// Polling interval for commands that wait for work to finish.
const commandPoll = 500 * time.Millisecond

// replayCommand requeues stored datasources.
func (p commands) replayCommand() *cobra.Command {
	var f catalog.ReplayFilter
	var all, follow bool
	var since, dir string
	cmd := &cobra.Command{
		Use: "replay --datastore DATASTORE | --all [--failed] [--since TIME] [--refresh] [--wait=false]", DisableFlagsInUseLine: true,
		Short: "Re-index stored documents", GroupID: cli.GroupOperate, Args: cli.NoArguments,
		Long: "Re-index documents in the catalog (DATABASE_URL, --data-dir or SLUICE_DATA_DIR), for example after failures or a\n" +
			"settings change. Documents stay searchable, and new content takes priority. You can run this while the service is\n" +
			"running or before starting it.",
		Example: "sluice replay --failed\nsluice replay --all --refresh --wait=false",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.DatastoreID == "" && !all && !f.Failed && since == "":
				return cli.WithExit(cli.Misused, errors.New("specify --datastore or --all"))
			case f.DatastoreID != "" && all:
				return cli.WithExit(cli.Misused, errors.New("--datastore and --all cannot be combined"))
			}
			return p.replay(cmd.Context(), f, since, dir, follow)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.DatastoreID, "datastore", "", "re-index this `datastore`, by id or name")
	flags.BoolVar(&all, "all", false, "re-index all datastores of all workspaces")
	flags.BoolVar(&f.Failed, "failed", false, "re-index only datasources with status error")
	flags.StringVar(&since, "since", "", "re-index only datasources changed since a `time`, such as 2006-01-02, 2006-01-02T15:04:05Z or 36h for 36 hours ago")
	flags.BoolVar(&f.Fetch, "refresh", false, "fetch web content again instead of using the stored copy")
	flags.BoolVar(&follow, "wait", true, "show progress until all are re-indexed; with --wait=false, return at once")
	flags.StringVar(&dir, "data-dir", "", "data `directory` (SLUICE_DATA_DIR)")
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

// parseSince parses a date, a time, or a duration before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, errors.New("must be a date (2006-01-02), a time (2006-01-02T15:04:05Z) or a duration before now (36h)")
}

// replayProgress returns how many datasources a replay has in total, how many of them are synched, and how many have
// failed.
type replayProgress func(ctx context.Context, id string) (total, done, failed int64, err error)

// watchReplay shows the replay's progress until the replay is complete or ctx is done. If ctx is done, the replay
// itself continues. Datasources deleted or requeued since the replay began no longer count.
func watchReplay(ctx context.Context, progress replayProgress, id string, show cli.Progress) error {
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	for {
		total, synched, failed, err := progress(ctx, id)
		if ctx.Err() != nil {
			show.End("The replay continues in the background.")
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the progress of the replay: %w", err)
		}
		show.Update(synched+failed, failed, total)
		if synched+failed >= total {
			show.End("")
			if failed > 0 {
				return cli.WithExit(cli.Partly, fmt.Errorf("%d of %s failed: sluice datastores show lists them with the reasons", failed, cli.Counted(total, "datasource")))
			}
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
