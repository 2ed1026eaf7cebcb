package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/cli"
)

// Maximum time to wait for a process to accept the request.
const repairTimeout = 15 * time.Second

// repairCommand requests a repair and prints its report.
func (p commands) repairCommand() *cobra.Command {
	var prune, follow bool
	var dir string
	cmd := &cobra.Command{
		Use: "repair [--prune] [--wait=false]", Short: "Check stored data and repair inconsistencies", DisableFlagsInUseLine: true,
		GroupID: cli.GroupOperate, Args: cli.NoArguments,
		Long: "Have a running api process cross-check the index, originals, job log and catalog, and repair any differences. The\n" +
			"catalog is set by DATABASE_URL, --data-dir or SLUICE_DATA_DIR. Documents that need re-indexing are queued; their\n" +
			"results are incomplete until that is done.",
		Example: "sluice repair",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := openCatalog(cmd.Context(), p.Environ, dir)
			if err != nil {
				return err
			}
			defer c.Close()
			id, err := c.RequestRepair(cmd.Context(), prune)
			if err != nil {
				return err
			}
			if follow {
				return p.watchRepair(cmd.Context(), c, id)
			}
			if p.JSON {
				return p.PrintJSON(map[string]string{"id": id})
			}
			fmt.Fprintf(p.Out, "Requested repair %s.\n", id)
			return nil
		},
	}
	cmd.Flags().BoolVar(&prune, "prune", false, "delete datasources that lost both their rows and their original, for example after an older database was restored; "+
		"without this flag, they are listed and get the status error")
	cmd.Flags().BoolVar(&follow, "wait", true, "show progress until the repair ends; with --wait=false, return at once")
	cmd.Flags().StringVar(&dir, "data-dir", "", "data `directory` (SLUICE_DATA_DIR)")
	return cmd
}

func (p commands) watchRepair(ctx context.Context, c *catalog.Catalog, id string) error {
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	asked, shown := time.Now(), 0
	for {
		state, err := c.Repair(ctx, id)
		if err != nil {
			return fmt.Errorf("reading the state of the repair: %w", err)
		}
		for _, line := range state.Lines[shown:] {
			fmt.Fprintln(p.ProgressWriter(), line)
		}
		shown = len(state.Lines)
		switch {
		case state.FinishedAt != nil && state.Error != "":
			return cli.WithExit(cli.Damaged, fmt.Errorf("some differences could not be repaired: %s", state.Error))
		case state.FinishedAt != nil && p.JSON:
			return p.PrintJSON(map[string]any{"id": id, "said": state.Lines})
		case state.FinishedAt != nil:
			return nil
		case state.Holder == "" && time.Since(asked) > repairTimeout:
			return cli.WithExit(cli.Unavailable, errors.New("no api process has started the repair: none is running, or it is busy with another repair; the request stays queued"))
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(p.ProgressWriter(), "The repair continues in the background.")
			return nil
		case <-tick.C:
		}
	}
}
