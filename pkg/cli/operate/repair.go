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

// Time after which the command reports that no process has accepted the request.
const repairTimeout = 15 * time.Second

// repairCommand requests a repair and prints its report.
func (p commands) repairCommand() *cobra.Command {
	var prune, follow bool
	var dir string
	cmd := &cobra.Command{
		Use: "repair [--prune] [--wait=false]", Short: "Compare what is kept, and mend what differs", DisableFlagsInUseLine: true,
		GroupID: cli.GroupOperate, Args: cli.NoArguments,
		Long: "Have a running api process compare index, originals, job log and catalog, mend what differs from what is left, and\n" +
			"say what it did. What is to be read again is then queued, and stays incomplete until it has been. The catalog is\n" +
			"that of DATABASE_URL, or of --data-dir or SLUICE_DATA_DIR.",
		Example: "sluice repair\nsluice repair --wait=false",
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
			fmt.Fprintf(p.Out, "repair %s is requested\n", id)
			return nil
		},
	}
	cmd.Flags().BoolVar(&prune, "prune", false, "delete datasources that have lost both their rows and their original: without it they are "+
		"named, and end with status error; after an older database was restored they are what was deleted since its copy")
	cmd.Flags().BoolVar(&follow, "wait", true, "show what is done until the end; =false: ask for the repair and return")
	cmd.Flags().StringVar(&dir, "data-dir", "", "data `directory` of the service (SLUICE_DATA_DIR)")
	return cmd
}

func (p commands) watchRepair(ctx context.Context, c *catalog.Catalog, id string) error {
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	asked, shown := time.Now(), 0
	for {
		state, err := c.Repair(ctx, id)
		if err != nil {
			return fmt.Errorf("looking at the repair: %w", err)
		}
		for _, line := range state.Lines[shown:] {
			fmt.Fprintln(p.ProgressWriter(), line)
		}
		shown = len(state.Lines)
		switch {
		case state.FinishedAt != nil && state.Error != "":
			return cli.WithExit(cli.Damaged, fmt.Errorf("not everything could be mended: %s", state.Error))
		case state.FinishedAt != nil && p.JSON:
			return p.PrintJSON(map[string]any{"id": id, "said": state.Lines})
		case state.FinishedAt != nil:
			return nil
		case state.Holder == "" && time.Since(asked) > repairTimeout:
			return cli.WithExit(cli.Unavailable, errors.New("no api process has taken the repair up: none runs, or it is busy with another one; the repair is done as soon as one can"))
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(p.ProgressWriter(), "the repair goes on without being watched")
			return nil
		case <-tick.C:
		}
	}
}
