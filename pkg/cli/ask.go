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

type askFlags struct {
	connection                     ConnectionFlags
	agent, datastore, conversation string
	filter                         filterFlags
}

func (p *Program) askCommand() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use: "ask QUESTION [--agent AGENT | --datastore DATASTORE]", Short: "Ask an agent a question", GroupID: GroupUse,
		Long: "Ask an agent and print its answer as it is written, with the sources it cites. With --datastore, the\n" +
			"question goes to an agent that searches only that datastore. This agent is created if it does not exist. Neither\n" +
			"flag is needed if there is only one agent or one datastore.",
		Example: "sluice ask \"How long is the warranty?\" --datastore Handbook\nsluice ask \"And for the motor?\" --agent Support --conversation $ID",
		Args:    wantsText("question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.agent != "" && f.datastore != "" {
				return Misusedf("--agent and --datastore cannot be combined: an agent has its own datastores")
			}
			c, err := p.connect(f.connection, interactiveAttempts, IsID(f.agent))
			if err != nil {
				return err
			}
			defer c.Close()
			return Fault(cmd.Context(), p.ask(cmd.Context(), c, f, strings.Join(args, " ")))
		},
	}
	cmd.Flags().StringVar(&f.agent, "agent", "", "`agent` to ask, by id or name")
	cmd.Flags().StringVar(&f.datastore, "datastore", "", "`datastore` to answer from, by id or name")
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "continue the conversation with this `id`")
	f.filter.flags(cmd)
	f.connection.Flags(cmd)
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
			"visitorId": answer.VisitorId, "sentences": answer.Sentences, "grounded": answer.Grounded,
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
	characters := []rune(answer.Answer)
	for _, s := range answer.Sentences {
		if s.Unsupported && s.End <= len(characters) {
			fmt.Fprintf(p.Out, "Not supported by the sources: %s\n", oneLine(string(characters[s.Start:s.End])))
		}
	}
	if Terminal(p.Out) {
		fmt.Fprintf(p.Out, "\nTo continue: --conversation %s\n", answer.ConversationId)
	}
}

// agent returns the id of the agent to ask. That is the agent in the flags or, if there is none, one that answers only
// from the chosen datastore. If no such agent exists, agent creates one, unless answerable returns an error.
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
		names = append(names, Named{ID: a.Id, Name: a.Name})
	}
	if f.agent != "" {
		return Pick("agent", f.agent, names)
	}
	wanted := f.datastore
	if wanted == "" {
		if len(all) == 1 {
			return all[0].Id, nil
		}
		if wanted, err = onlyDatastore(ctx, c, "specify an agent or a datastore:", names); err != nil {
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
		Description: ptrOrNil("Answers from the datastore of this name. Created by the command line."),
	})
	if err != nil {
		return "", fmt.Errorf("creating an agent for datastore %q: %w", store.Name, err)
	}
	fmt.Fprintf(p.Err, "Created agent %q (%s).\n", oneLine(made.Name), made.Id)
	return made.Id, nil
}

// answerable returns an error if no agent could answer the question from the datastore, for example because it's empty.
// It prevents useless agents from being created.
func answerable(ctx context.Context, c *client.Client, store *client.Datastore, q client.AgentQuery) error {
	none := func(format string, args ...any) error { return WithExit(NotFound, fmt.Errorf(format, args...)) }
	if q.ConversationId != nil {
		return none("datastore %q has no agent yet, so it has no conversation to continue: "+
			"remove --conversation, or name the agent with --agent", store.Name)
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
		return none("datastore %q is empty: add documents with sluice ingest FILE… --datastore %q", store.Name, store.Name)
	case counts.Synched == 0:
		return none("datastore %q has no searchable documents yet: sluice datastores show %q lists queued and failed ones",
			store.Name, store.Name)
	case q.Filters != nil:
		return none("no document in datastore %q matches the question and all filters: remove --filter, --custom-id or --datasource", store.Name)
	default:
		return none("no document in datastore %q answers the question: rephrase it", store.Name)
	}
}

// onlyDatastore returns the only datastore's id, for commands that don't name one. If there are several, the error
// starts with `usage` and lists them along with `agents`.
func onlyDatastore(ctx context.Context, c *client.Client, usage string, agents []Named) (id string, err error) {
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
			errors.New("there is no datastore yet: create one and add documents with sluice ingest FILE… --datastore NAME --create"))
	}
	var names []string
	for _, a := range agents {
		names = append(names, fmt.Sprintf("%q", a.Name))
	}
	said := "set --datastore to " + firstNames(stores)
	if len(names) > 0 {
		said += ", or --agent to " + firstNames(names)
	}
	return "", Misusedf("%s %s", usage, said)
}
