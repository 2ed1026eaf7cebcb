package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice/sluice/pkg/answer/evidence"
	"github.com/sluice/sluice/pkg/domain"
)

type askArguments struct {
	Question       string `json:"question" jsonschema:"question to ask; it must be understandable on its own or as a follow-up in the conversation"`
	Agent          string `json:"agent,omitempty" jsonschema:"id of the agent; can be left out if there is only one"`
	ConversationID string `json:"conversationId,omitempty" jsonschema:"id of the conversation to continue, from an earlier answer; if left out, a new conversation starts"`
	Rectangles     bool   `json:"rectangles,omitempty" jsonschema:"for clients that display PDFs: return where the supporting passages are on the pages"`
}

type askAnswer struct {
	Answer         string      `json:"answer" jsonschema:"answer with citations such as [1], which refer to the sources by number"`
	Agent          string      `json:"agent"`
	ConversationID string      `json:"conversationId"`
	Sources        []askSource `json:"sources"`

	Sentences []evidence.Sentence `json:"sentences" jsonschema:"the answer's sentences, each with the source text that supports it"`

	unsupported []string // texts of unsupported sentences
}

type askSource struct {
	Citation int    `json:"citation" jsonschema:"number of the citation in the answer; 0 if the answer has no citations"`
	ID       string `json:"id" jsonschema:"id of the passage; pass it to fetch to read the text around it"`
	Title    string `json:"title"`
	URL      string `json:"url"`
	Text     string `json:"text"`
	Heading  string `json:"heading,omitempty"`
	Page     int    `json:"page,omitempty"`
}

func addAsk(box *toolRegistry, lib Library) {
	addTool(box, &sdk.Tool{
		Name:        "ask",
		Title:       "Ask an agent",
		Description: "Asks an agent to answer a question from the documents and cite its sources. If the request has a progress token, the answer's text is streamed in the messages of progress notifications.",
		Annotations: &sdk.ToolAnnotations{Title: "Ask an agent", DestructiveHint: new(false), OpenWorldHint: new(false)}, // not read-only: it stores question and answer
	}, func(f map[string]*jsonschema.Schema) {
		text(f["question"], maxQuestionCharacters)
		f["agent"].MaxLength, f["conversationId"].MaxLength = new(maxIDCharacters), new(maxIDCharacters)
	}, func(ctx context.Context, req *sdk.CallToolRequest, in askArguments) (*sdk.CallToolResult, askAnswer, error) {
		agent, err := agentFor(ctx, lib, in.Agent)
		if err != nil {
			return nil, askAnswer{}, err
		}
		got, err := lib.Ask(ctx, Question{AgentID: agent, Text: in.Question, ConversationID: in.ConversationID, Rectangles: in.Rectangles}, progress(ctx, req))
		if err != nil {
			return nil, askAnswer{}, err
		}
		out := askAnswer{
			Answer: got.Text, Agent: agent, ConversationID: got.ConversationID, Sources: make([]askSource, len(got.Sources)),
			Sentences:   evidence.Sentences(got.Text, got.Sources, got.Sentences),
			unsupported: evidence.Unsupported(got.Text, got.Sentences),
		}
		for i, f := range got.Sources {
			out.Sources[i] = askSource{
				Citation: f.Citation, ID: f.ChunkID, Title: f.DatasourceName, URL: addressOf(f.Source, f.DatasourceID),
				Text: f.Text, Heading: f.Heading, Page: f.Page,
			}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out.text()}}}, out, nil
	})
}

// progress returns a function that sends parts of an answer as progress notifications, or nil if the caller didn't
// request progress.
func progress(ctx context.Context, req *sdk.CallToolRequest) func(string) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	sent := 0
	return func(piece string) error {
		sent += len(piece)
		return req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(sent), Message: piece})
	}
}

// agentFor returns id if it is not empty. Otherwise, it returns the id of the only agent, and fails if there are
// several agents or none.
func agentFor(ctx context.Context, lib Library, id string) (string, error) {
	const shown = 20
	if id != "" {
		return id, nil
	}
	agents, err := lib.Agents(ctx, shown+1)
	if err != nil {
		return "", err
	}
	switch len(agents) {
	case 0:
		return "", domain.Errorf(domain.CodeInvalid, "agent: the workspace has no agents; create one with POST /agents")
	case 1:
		return agents[0].ID, nil
	}
	names := make([]string, 0, shown)
	for _, a := range agents[:min(len(agents), shown)] {
		names = append(names, fmt.Sprintf("%s (%q)", a.ID, a.Name))
	}
	more := ""
	if len(agents) > shown {
		more = " and others"
	}
	return "", domain.Errorf(domain.CodeInvalid, "agent: is required because the workspace has several agents: %s%s", strings.Join(names, ", "), more)
}

// text renders the answer and its sources for clients that show only text.
func (a askAnswer) text() string {
	var out strings.Builder
	out.WriteString(a.Answer)
	for i, s := range a.Sources {
		if s.Citation == 0 {
			break
		}
		if i == 0 {
			out.WriteString("\n\nSources:")
		}
		fmt.Fprintf(&out, "\n[%d] %s", s.Citation, s.Title)
		if s.Page > 0 {
			fmt.Fprintf(&out, ", page %d", s.Page)
		}
		out.WriteString(" <" + s.URL + ">")
	}
	for i, text := range a.unsupported {
		if i == 0 {
			out.WriteString("\n\nNot supported by the sources:")
		}
		out.WriteString("\n- " + strings.Join(strings.Fields(text), " "))
	}
	fmt.Fprintf(&out, "\n\nconversationId: %s", a.ConversationID)
	return out.String()
}
