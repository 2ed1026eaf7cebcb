package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/client"
)

// One question is answered by a PDF, the other by a web page.
var questions = []string{
	"How long is the warranty of the Aurora X2 pump?",
	"The Nimbus Logger shows error code E-23. What should I do?",
}

// ask sends every question to the datastore, to get fragments, and to an agent, to stream an answer. It returns the URL
// of the console page with the last answer.
func (l *library) ask(ctx context.Context) (answer string, err error) {
	agent, err := l.CreateAgent(ctx, client.AgentCreate{Name: "Support agent", DatastoreIds: &[]string{l.storeID}})
	if err != nil {
		return "", err
	}
	var conversation string
	for _, question := range questions {
		if err := l.fragments(ctx, question); err != nil {
			return "", err
		}
		if conversation, err = l.answer(ctx, agent.Id, question); err != nil {
			return "", err
		}
	}
	return "#/agents/" + agent.Id + "/conversations/" + conversation, nil
}

func (l *library) fragments(ctx context.Context, question string) error {
	limit := 3
	fragments, err := l.QueryDatastore(ctx, l.storeID, client.DatastoreQuery{Query: question, TopK: &limit})
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "\nPOST /datastores/{id}/query  %q\n", question)
	for i, f := range fragments {
		fmt.Fprintf(l.out, "  %d. %.3f  %s\n     %s\n", i+1, f.Score, f.Source, shorten(f.Text, 160))
	}
	if len(fragments) == 0 {
		return errors.New("the query found nothing")
	}
	return nil
}

// answer asks the agent, prints the answer as it arrives and returns the conversation's id.
func (l *library) answer(ctx context.Context, agentID, question string) (conversation string, err error) {
	fmt.Fprintf(l.out, "\nPOST /agents/{id}/query, streaming  %q\n  ", question)
	var text strings.Builder
	answer, err := l.StreamAgent(ctx, agentID, client.AgentQuery{Query: question}, func(piece string) error {
		text.WriteString(piece)
		_, err := fmt.Fprint(l.out, strings.ReplaceAll(piece, "\n", "\n  "))
		return err
	})
	if err != nil {
		return "", err
	}
	fmt.Fprintln(l.out)
	for _, s := range answer.Sources {
		fmt.Fprintf(l.out, "  [%d] %s, %s\n", s.Citation, s.DatasourceName, s.Source)
	}
	if len(answer.Sources) == 0 || !strings.Contains(text.String(), "[1]") {
		return "", errors.New("the answer has no citations")
	}
	return answer.ConversationId, nil
}

func shorten(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n]) + "…"
}
