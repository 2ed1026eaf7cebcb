package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// questions are answered by a PDF and by a page of the web site.
var questions = []string{
	"How long is the warranty of the Aurora X2 pump?",
	"The Nimbus Logger shows error code E-23. What should I do?",
}

// ask puts every question twice: to the datastore for fragments, to an agent for a streamed answer. It returns where the
// console shows the last answer.
func (c client) ask(ctx context.Context, storeID string) (answer string, err error) {
	var agent struct{ ID string }
	err = c.post(ctx, "/agents", map[string]any{"name": "Support agent", "datastoreIds": []string{storeID}}, &agent)
	if err != nil {
		return "", err
	}
	var conversation string
	for _, question := range questions {
		if err := c.fragments(ctx, storeID, question); err != nil {
			return "", err
		}
		if conversation, err = c.answer(ctx, agent.ID, question); err != nil {
			return "", err
		}
	}
	return "#/agents/" + agent.ID + "/conversations/" + conversation, nil
}

func (c client) fragments(ctx context.Context, storeID, question string) error {
	var fragments []fragment
	if err := c.post(ctx, "/datastores/"+storeID+"/query", map[string]any{"query": question, "topK": 3}, &fragments); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\nPOST /datastores/{id}/query  %q\n", question)
	for i, f := range fragments {
		fmt.Fprintf(c.out, "  %d. %.3f  %s\n     %s\n", i+1, f.Score, f.Source, shorten(f.Text, 160))
	}
	if len(fragments) == 0 {
		return errors.New("the query found nothing")
	}
	return nil
}

// answer asks the agent, prints the answer as it comes, and returns the conversation that it is kept in.
func (c client) answer(ctx context.Context, agentID, question string) (conversation string, err error) {
	fmt.Fprintf(c.out, "\nPOST /agents/{id}/query, streaming  %q\n  ", question)
	body, err := json.Marshal(map[string]any{"query": question, "streaming": true})
	if err != nil {
		return "", err
	}
	resp, err := c.send(ctx, http.MethodPost, "/agents/"+agentID+"/query", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer, end strings.Builder
	err = stream(resp.Body, func(name, data string) error {
		switch name {
		case "answer":
			answer.WriteString(data)
			fmt.Fprint(c.out, strings.ReplaceAll(data, "\n", "\n  "))
		case "endpoint_response":
			end.WriteString(data)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the stream: %w", err)
	}
	var response struct {
		Sources        []fragment
		ConversationID string
	}
	if err := json.Unmarshal([]byte(end.String()), &response); err != nil {
		return "", fmt.Errorf("reading endpoint_response: %w", err)
	}
	fmt.Fprintln(c.out)
	for _, s := range response.Sources {
		fmt.Fprintf(c.out, "  [%d] %s, %s\n", s.Citation, s.DatasourceName, s.Source)
	}
	if len(response.Sources) == 0 || !strings.Contains(answer.String(), "[1]") {
		return "", errors.New("the answer cites nothing")
	}
	return response.ConversationID, nil
}

func shorten(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n]) + "…"
}
