package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
)

func (p *Program) agentsCommand() *cobra.Command {
	agents := &cobra.Command{
		Use: "agents list|update", Aliases: []string{"agent"}, Short: "List agents and change their settings",
		GroupID: GroupUse, DisableFlagsInUseLine: true,
		Long: "An agent can be given by its id or its name.",
	}
	var where ConnectionFlags
	list := &cobra.Command{
		Use: "list", Short: "List agents, newest first", Args: NoArguments,
		RunE: p.connected(&where, func(ctx context.Context, c *client.Client, _ []string) error { return p.listAgents(ctx, c) }),
	}
	var unsupported string
	var restrict bool
	update := &cobra.Command{Use: "update AGENT", Short: "Change an agent's settings", Args: Exactly("AGENT"), Example: "sluice agents update Support --unsupported-sentences drop"}
	update.RunE = p.connected(&where, func(ctx context.Context, c *client.Client, args []string) error {
		var patch client.AgentPatch
		if update.Flags().Changed("restrict-knowledge") {
			patch.RestrictKnowledge = &restrict
		}
		patch.UnsupportedSentences = ptrOrNil(client.UnsupportedSentences(unsupported))
		if patch.RestrictKnowledge == nil && patch.UnsupportedSentences == nil {
			return Misusedf("nothing to change: set --restrict-knowledge or --unsupported-sentences")
		}
		id, err := findAgent(ctx, c, args[0])
		if err != nil {
			return err
		}
		a, err := c.UpdateAgent(ctx, id, patch)
		if err != nil {
			return err
		}
		if p.JSON {
			return p.PrintJSON(a)
		}
		fmt.Fprintf(p.Out, "%s\nUpdated %q: restrictKnowledge %t, unsupportedSentences %s\n", a.Id, oneLine(a.Name), a.RestrictKnowledge, a.UnsupportedSentences)
		return nil
	})
	update.Flags().BoolVar(&restrict, "restrict-knowledge", false, "answer only from the documents and refuse small talk; --restrict-knowledge=false lifts both restrictions")
	update.Flags().StringVar(&unsupported, "unsupported-sentences", "", "`action` to take on sentences that the sources do not support: mark, drop or keep")
	for _, cmd := range []*cobra.Command{list, update} {
		where.Flags(cmd)
	}
	agents.AddCommand(list, update)
	return agents
}

// findAgent returns the id of the agent with this id or name.
func findAgent(ctx context.Context, c *client.Client, wanted string) (string, error) {
	return Find("agent", wanted, func(add func(Named)) error {
		for a, err := range c.ListAgents(ctx) {
			if err != nil {
				return err
			}
			add(Named{ID: a.Id, Name: a.Name})
		}
		return nil
	})
}

func (p *Program) listAgents(ctx context.Context, c *client.Client) error {
	all := []client.Agent{}
	for a, err := range c.ListAgents(ctx) {
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"data": all})
	}
	w := tabwriter.NewWriter(p.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tVISIBILITY\tRESTRICT KNOWLEDGE\tUNSUPPORTED SENTENCES")
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%s\n", a.Id, oneLine(a.Name), a.Visibility, a.RestrictKnowledge, a.UnsupportedSentences)
	}
	return w.Flush()
}
