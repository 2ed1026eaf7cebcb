package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

const repairUsage = `usage: api repair [--prune] [--wait=false]
  --prune        delete datasources that have lost both their rows and their original: without it they are named, and
                 end with status error; after an older database was restored they are what was deleted since its copy
  --wait=false   ask for the repair and return
Has a running api process compare index, originals, job log and catalog, mend what differs from what is left, and say
what it did. What is to be read again is then queued, and stays incomplete until it has been. The catalog is that of
DATABASE_URL, or of --data-dir or SLUICE_DATA_DIR.`

// repairPatience is how long a request may lie unclaimed before it is said that nobody takes it.
const repairPatience = 15 * time.Second

// repairCommand asks for a repair and shows what it says.
func repairCommand(ctx context.Context, args, environ []string, out io.Writer) error {
	flags := flag.NewFlagSet("repair", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	prune := flags.Bool("prune", false, "")
	follow := flags.Bool("wait", true, "")
	dir := flags.String("data-dir", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, repairUsage)
		return nil
	case err != nil:
		return usageError{fmt.Errorf("%w\n%s", err, repairUsage)}
	case flags.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), repairUsage)}
	}
	c, err := openCatalog(ctx, environ, *dir)
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := c.RequestRepair(ctx, *prune)
	if err != nil {
		return err
	}
	if !*follow {
		fmt.Fprintf(out, "repair %s is requested\n", id)
		return nil
	}
	return watchRepair(ctx, c, id, out)
}

func watchRepair(ctx context.Context, c *catalog.Catalog, id string, out io.Writer) error {
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	asked, shown := time.Now(), 0
	for {
		state, err := c.Repair(ctx, id)
		if err != nil {
			return fmt.Errorf("looking at the repair: %w", err)
		}
		for _, line := range state.Lines[shown:] {
			fmt.Fprintln(out, line)
		}
		shown = len(state.Lines)
		switch {
		case state.FinishedAt != nil && state.Error != "":
			return fmt.Errorf("not everything could be mended: %s", state.Error)
		case state.FinishedAt != nil:
			return nil
		case state.Holder == "" && time.Since(asked) > repairPatience:
			return errors.New("no api process has taken the repair up: none runs, or it is busy with another one; the repair is done as soon as one can")
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(out, "the repair goes on without being watched")
			return nil
		case <-tick.C:
		}
	}
}
