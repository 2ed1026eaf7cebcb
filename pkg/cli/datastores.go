package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
)

// Remote returns the commands that talk to a running service.
func (p *Program) Remote() []*cobra.Command {
	return []*cobra.Command{p.agentsCommand(), p.datastoresCommand(), p.ingestCommand(), p.importCommand(), p.queryCommand(), p.askCommand()}
}

// connected returns a RunE function that connects to the service and calls `do` with the client and the command's
// arguments.
func (p *Program) connected(where *ConnectionFlags, do func(context.Context, *client.Client, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(*where, interactiveAttempts, false)
		if err != nil {
			return err
		}
		defer c.Close()
		return Fault(cmd.Context(), do(cmd.Context(), c, args))
	}
}

func (p *Program) datastoresCommand() *cobra.Command {
	stores := &cobra.Command{
		Use: "datastores list|create|show|delete|synonyms|settings", Aliases: []string{"datastore"}, Short: "Manage datastores and their search settings",
		GroupID: GroupUse, DisableFlagsInUseLine: true,
		Long: "A datastore holds documents that are searched together. It can be given by its id or its name.",
	}
	var where ConnectionFlags
	list := &cobra.Command{
		Use: "list", Short: "List datastores, newest first", Args: NoArguments,
		RunE: p.connected(&where, func(ctx context.Context, c *client.Client, _ []string) error { return p.listDatastores(ctx, c) }),
	}
	var made client.DatastoreCreate
	var about, engine, model string
	var public bool
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a datastore", Args: Exactly("NAME"),
		Example: "sluice datastores create Handbook --embedding-model builtin-en-256-v1",
		RunE: p.connected(&where, func(ctx context.Context, c *client.Client, args []string) error {
			made.Name = args[0]
			made.Description, made.EmbeddingModel, made.Type = ptrOrNil(about), ptrOrNil(model), ptrOrNil(client.Engine(engine))
			if public {
				made.Visibility = ptrOrNil(client.VisibilityPublic)
			}
			d, err := c.CreateDatastore(ctx, made)
			if err != nil {
				return err
			}
			if p.JSON {
				return p.PrintJSON(d)
			}
			fmt.Fprintf(p.Out, "%s\nCreated %q. Add documents: sluice ingest FILE… --datastore %s\n", d.Id, d.Name, d.Id)
			return nil
		}),
	}
	create.Flags().StringVar(&about, "description", "", "`text` that describes the datastore in lists")
	create.Flags().StringVar(&engine, "engine", "", "search `engine`: embedded or milvus (default: set by the service)")
	create.Flags().StringVar(&model, "embedding-model", "", "embedding `model` (default: set by the service)")
	create.Flags().BoolVar(&public, "public", false, "allow queries without an API key")
	show := &cobra.Command{
		Use: "show DATASTORE", Short: "Show the state of a datastore and its failed documents", Args: Exactly("DATASTORE"),
		Example: "sluice datastores show Handbook",
		RunE: p.connected(&where, func(ctx context.Context, c *client.Client, args []string) error {
			return p.showDatastore(ctx, c, args[0])
		}),
	}
	var yes bool
	remove := &cobra.Command{
		Use: "delete DATASTORE", Short: "Delete a datastore and all its documents", Args: Exactly("DATASTORE"),
		Example: "sluice datastores delete Handbook",
		RunE: p.connected(&where, func(ctx context.Context, c *client.Client, args []string) error {
			return p.deleteDatastore(ctx, c, args[0], yes)
		}),
	}
	remove.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	all := append([]*cobra.Command{list, create, show, remove}, p.searchSettingsCommands(&where)...)
	for _, cmd := range all {
		where.Flags(cmd)
	}
	stores.AddCommand(all...)
	return stores
}

// Exactly returns a check that rejects a command line unless it has exactly one argument. Error messages call this
// argument `noun`.
func Exactly(noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Misusedf("missing argument %s", noun)
		}
		return AtMost(1)(cmd, args)
	}
}

func ptrOrNil[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func (p *Program) listDatastores(ctx context.Context, c *client.Client) error {
	all := []client.Datastore{}
	for d, err := range c.ListDatastores(ctx) {
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"data": all})
	}
	if len(all) == 0 {
		fmt.Fprintln(p.Out, "No datastores yet. Create one and add documents: sluice ingest FILE… --datastore NAME --create")
		return nil
	}
	w := tabwriter.NewWriter(p.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tENGINE\tEMBEDDING MODEL\tVISIBILITY")
	for _, d := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Id, oneLine(d.Name), d.Type, d.EmbeddingModel, d.Visibility)
	}
	return w.Flush()
}

// oneLine puts untrusted text on one line and removes control characters.
func oneLine(s string) string { return strings.Join(strings.Fields(Printable(s)), " ") }

// Maximum number of failures listed.
const maxShown = 20

func (p *Program) showDatastore(ctx context.Context, c *client.Client, wanted string) error {
	d, err := datastore(ctx, c, wanted)
	if err != nil {
		return err
	}
	counts, err := c.CountDatasources(ctx, d.Id)
	if err != nil {
		return err
	}
	failures := []failure{}
	failed := client.DatasourceStatusError
	for f, err := range c.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &d.Id, Status: &failed}) {
		if err != nil {
			return err
		}
		if failures = append(failures, failure{f.Name, f.Id, valueOf(f.Error)}); len(failures) == maxShown {
			break
		}
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"datastore": d, "counts": counts, "failures": failures})
	}
	fmt.Fprintf(p.Out, "%s (%s)\n", oneLine(d.Name), d.Id)
	if d.Description != "" {
		fmt.Fprintln(p.Out, oneLine(d.Description))
	}
	fmt.Fprintf(p.Out, "engine %s, embedding model %s, %s\n", d.Type, d.EmbeddingModel, d.Visibility)
	fmt.Fprintf(p.Out, "%s: %d synched, %d queued, %d processing, %d failed, %d skipped\n", Counted(counts.Total, "datasource"), counts.Synched,
		counts.Unsynched+counts.Pending, counts.Running, counts.Error, counts.Skipped)
	writeFailures(p.Out, failures, int(counts.Error))
	return nil
}

func (p *Program) deleteDatastore(ctx context.Context, c *client.Client, wanted string, yes bool) error {
	d, err := datastore(ctx, c, wanted)
	if err != nil {
		return err
	}
	if !yes {
		counts, err := c.CountDatasources(ctx, d.Id)
		if err != nil {
			return err
		}
		if p.JSON || !Terminal(p.Err) {
			return Misusedf("datastore %q has %s: add --yes to delete it with all of them", d.Name, Counted(counts.Total, "datasource"))
		}
		fmt.Fprintf(p.Err, "Delete %q with %s? This cannot be undone. Type yes: ", oneLine(d.Name), Counted(counts.Total, "datasource"))
		said, err := bufio.NewReader(p.Input(ctx)).ReadString('\n')
		if err != nil || strings.TrimSpace(said) != "yes" {
			return WithExit(Stopped, fmt.Errorf("not confirmed: nothing was deleted"))
		}
	}
	if err := c.DeleteDatastore(ctx, d.Id); err != nil {
		return err
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"deleted": d.Id})
	}
	fmt.Fprintf(p.Out, "deleted %s (%s)\n", d.Id, oneLine(d.Name))
	return nil
}
