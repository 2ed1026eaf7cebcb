package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
)

// askFlags are the flags of ask.
type askFlags struct {
	where                          Where
	agent, datastore, conversation string
	filter                         filterFlags
}

func (p *Program) askCommand() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use: "ask QUESTION [--agent AGENT | --datastore DATASTORE]", Short: "Ask, and get a cited answer as it is written", GroupID: GroupUse,
		Long: "Ask an agent, and show its answer as it is written, with the sources that it cites. With --datastore it is an agent that\n" +
			"answers from that datastore alone, which is made if there is none and something there answers. With neither it is the only\n" +
			"agent that there is, or one for the only datastore.",
		Example: "sluice ask \"How long is the warranty?\" --datastore Handbook\nsluice ask \"And of the motor?\" --agent Support --conversation $ID",
		Args:    wantsText("question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.agent != "" && f.datastore != "" {
				return Misusedf("--agent has datastores of its own: take --agent or --datastore")
			}
			c, err := p.connect(f.where, interactiveAttempts, IsID(f.agent))
			if err != nil {
				return err
			}
			defer c.Close()
			return Fault(cmd.Context(), p.ask(cmd.Context(), c, f, strings.Join(args, " ")))
		},
	}
	cmd.Flags().StringVar(&f.agent, "agent", "", "`agent` that is asked, by id or name")
	cmd.Flags().StringVar(&f.datastore, "datastore", "", "`datastore` that the answer is to come from, by id or name")
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "`id` of a conversation that the question goes on with")
	f.filter.flags(cmd)
	f.where.Flags(cmd)
	return cmd
}

func (p *Program) ask(ctx context.Context, c *client.Client, f askFlags, question string) error {
	q := client.AgentQuery{Query: question, ConversationId: ptrOrNil(f.conversation)}
	var err error
	if q.Filters, err = f.filter.filters(); err != nil {
		return err
	}
	agent, err := p.agent(ctx, c, f, q)
	if err != nil {
		return err
	}
	if p.JSON {
		answer, err := c.QueryAgent(ctx, agent, q)
		if err != nil {
			return err
		}
		return p.PrintJSON(map[string]any{
			"agentId": agent, "answer": answer.Answer, "sources": answer.Sources, "conversationId": answer.ConversationId,
			"visitorId": answer.VisitorId,
		})
	}
	begun := false
	answer, err := c.StreamAgent(ctx, agent, q, func(piece string) error {
		begun = true
		_, err := fmt.Fprint(p.Out, Printable(piece))
		return err
	})
	if begun {
		fmt.Fprintln(p.Out)
	}
	if err != nil {
		return err
	}
	p.writeSources(answer)
	return nil
}

func (p *Program) writeSources(answer *client.AgentAnswer) {
	if len(answer.Sources) > 0 {
		fmt.Fprintln(p.Out)
	}
	for _, s := range answer.Sources {
		mark := "    "
		if s.Citation > 0 {
			mark = fmt.Sprintf("[%d] ", s.Citation)
		}
		where := oneLine(s.Source)
		if name := oneLine(s.DatasourceName); name != "" && !strings.HasPrefix(where, name) {
			where = strings.TrimSuffix(name+", "+where, ", ")
		}
		fmt.Fprintf(p.Out, "%s%s\n", mark, where)
	}
	if Terminal(p.Out) {
		fmt.Fprintf(p.Out, "\nTo go on: --conversation %s\n", answer.ConversationId)
	}
}

// agent returns the agent to ask. It creates one if necessary, unless the datastore has nothing to answer from.
func (p *Program) agent(ctx context.Context, c *client.Client, f askFlags, q client.AgentQuery) (id string, err error) {
	if IsID(f.agent) {
		return f.agent, nil
	}
	var all []client.Agent
	var names []Named
	for a, err := range c.ListAgents(ctx) {
		if err != nil {
			return "", err
		}
		all = append(all, a)
		names = append(names, Named{a.Id, a.Name})
	}
	if f.agent != "" {
		return Pick("agent", f.agent, names)
	}
	wanted := f.datastore
	if wanted == "" {
		if len(all) == 1 {
			return all[0].Id, nil
		}
		if wanted, err = onlyDatastore(ctx, c, "who is asked?", names); err != nil {
			return "", err
		}
	}
	store, err := datastore(ctx, c, wanted)
	if err != nil {
		return "", err
	}
	for _, a := range all {
		if slices.Equal(a.DatastoreIds, []string{store.Id}) {
			return a.Id, nil
		}
	}
	if err := answerable(ctx, c, store, q); err != nil {
		return "", err
	}
	made, err := c.CreateAgent(ctx, client.AgentCreate{
		Name: store.Name, DatastoreIds: &[]string{store.Id},
		Description: ptrOrNil("Answers from the datastore of this name; made by the command line."),
	})
	if err != nil {
		return "", fmt.Errorf("making an agent for datastore %q: %w", store.Name, err)
	}
	fmt.Fprintf(p.Err, "Made agent %q, %s.\n", oneLine(made.Name), made.Id)
	return made.Id, nil
}

// answerable returns an error if a datastore without an agent cannot answer, so that no agent is created in vain.
func answerable(ctx context.Context, c *client.Client, store *client.Datastore, q client.AgentQuery) error {
	none := func(format string, args ...any) error { return WithExit(NotFound, fmt.Errorf(format, args...)) }
	if q.ConversationId != nil {
		return none("no agent answers from datastore %q yet, so there is no conversation to go on with: "+
			"leave out --conversation, or name its agent with --agent", store.Name)
	}
	one := 1
	found, err := c.QueryDatastore(ctx, store.Id, client.DatastoreQuery{Query: q.Query, TopK: &one, Filters: q.Filters})
	if err != nil || len(found) > 0 {
		return err
	}
	counts, err := c.CountDatasources(ctx, store.Id)
	switch {
	case err != nil:
		return err
	case counts.Total == 0:
		return none("there is nothing in datastore %q yet: sluice ingest FILE… --datastore %q brings documents in", store.Name, store.Name)
	case counts.Synched == 0:
		return none("nothing in datastore %q can be found yet: sluice datastores show %q says what it waits for, and what has failed",
			store.Name, store.Name)
	case q.Filters != nil:
		return none("nothing in datastore %q that passes --filter, --custom-id and --datasource answers this: leave one out", store.Name)
	default:
		return none("nothing in datastore %q answers this: put it in other words", store.Name)
	}
}

// onlyDatastore returns the only datastore, for commands that name none. If there are several, the error contains the
// question which and lists the choices.
func onlyDatastore(ctx context.Context, c *client.Client, which string, agents []Named) (id string, err error) {
	var stores []string
	for d, err := range c.ListDatastores(ctx) {
		if err != nil {
			return "", err
		}
		id = cmp.Or(id, d.Id)
		stores = append(stores, fmt.Sprintf("%q", d.Name))
	}
	switch {
	case len(stores) == 1:
		return id, nil
	case len(stores) == 0:
		return "", WithExit(NotFound,
			errors.New("there is nothing to answer from yet: sluice ingest FILE… --datastore NAME --create brings documents in"))
	}
	var names []string
	for _, a := range agents {
		names = append(names, fmt.Sprintf("%q", a.Name))
	}
	said := "--datastore with one of " + firstNames(stores)
	if len(names) > 0 {
		said += ", or --agent with one of " + firstNames(names)
	}
	return "", Misusedf("%s %s", which, said)
}
