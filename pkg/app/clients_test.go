package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sluice/sluice/pkg/domain"
)

// answering starts a service with an agent that answers from the manuals.
func answering(t *testing.T) (p *program, agent, storeID string) {
	t.Helper()
	p, storeID = evaluated(t)
	var made struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "Support", "datastoreIds": []string{storeID}}, &made))
	return p, made.ID, storeID
}

func TestTheOfficialOpenAIClientTalksToTheService(t *testing.T) {
	t.Parallel()
	p, agent, _ := answering(t)
	client := openai.NewClient(option.WithBaseURL("http://"+p.addr+"/v1/"), option.WithAPIKey(testKey), option.WithMaxRetries(0))
	ask := openai.ChatCompletionNewParams{Model: agent, Messages: []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be brief."), openai.UserMessage("How long is the warranty of the Aurora pump?"),
	}}

	t.Run("models", func(t *testing.T) {
		var ids []string
		for pages := client.Models.ListAutoPaging(t.Context()); pages.Next(); {
			ids = append(ids, pages.Current().ID)
		}
		if !slices.Equal(ids, []string{agent, "builtin-en-256-v1", "builtin-minilm"}) {
			t.Errorf("the models are %v", ids)
		}
		if model, err := client.Models.Get(t.Context(), agent); err != nil || model.OwnedBy != "sluice" || model.Created == 0 {
			t.Errorf("the model is %+v, %v", model, err)
		}
	})
	t.Run("a completion", func(t *testing.T) {
		got, err := client.Chat.Completions.New(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if c := got.Choices[0]; !strings.Contains(c.Message.Content, "thirty months") || c.FinishReason != "stop" || c.Message.Role != "assistant" {
			t.Errorf("got %+v", c)
		}
		if sources := got.JSON.ExtraFields["sources"].Raw(); !strings.Contains(sources, "Manual of the pump") {
			t.Errorf("the sources are %s", sources)
		}
	})
	t.Run("a stream", func(t *testing.T) {
		streamed := ask
		streamed.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := client.Chat.Completions.NewStreaming(t.Context(), streamed)
		var whole openai.ChatCompletionAccumulator
		sources, chunks := "", 0
		for ; stream.Next(); chunks++ {
			chunk := stream.Current()
			if !whole.AddChunk(chunk) {
				t.Errorf("the chunk does not fit: %s", chunk.RawJSON())
			}
			if s := chunk.JSON.ExtraFields["sources"].Raw(); s != "" {
				sources = s
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if c := whole.Choices[0]; !strings.Contains(c.Message.Content, "thirty months") || c.FinishReason != "stop" || chunks < 4 || !strings.Contains(sources, "Manual of the pump") {
			t.Errorf("%d chunks make %+v with the sources %s", chunks, c, sources)
		}
	})
	t.Run("a conversation that the client keeps", func(t *testing.T) {
		followUp := ask
		followUp.Messages = append(followUp.Messages, openai.AssistantMessage("Thirty months [1]."), openai.UserMessage("And when does its warranty begin?"))
		got, err := client.Chat.Completions.New(t.Context(), followUp)
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Choices[0].Message.Content; !strings.Contains(text, "delivered") {
			t.Errorf("got %q", text)
		}
		var kept struct{ Data []any }
		if p.must(p.get("/conversations", &kept)); len(kept.Data) != 0 {
			t.Errorf("stored: %v", kept.Data)
		}
	})
	t.Run("errors", func(t *testing.T) {
		for name, test := range map[string]struct {
			change func(*openai.ChatCompletionNewParams)
			key    string
			status int
			code   string
		}{
			"a wrong key":        {func(*openai.ChatCompletionNewParams) {}, "sk_wrong", 401, "invalid_api_key"},
			"an unknown model":   {func(p *openai.ChatCompletionNewParams) { p.Model = domain.NewID() }, testKey, 404, "model_not_found"},
			"several answers":    {func(p *openai.ChatCompletionNewParams) { p.N = openai.Int(2) }, testKey, 400, "invalid_request"},
			"a hot temperature":  {func(p *openai.ChatCompletionNewParams) { p.Temperature = openai.Float(2.5) }, testKey, 400, "invalid_request"},
			"messages of a tool": {func(p *openai.ChatCompletionNewParams) { p.Messages = append(p.Messages, openai.ToolMessage("x", "1")) }, testKey, 400, "invalid_request"},
		} {
			wrong := ask
			test.change(&wrong)
			_, err := client.Chat.Completions.New(t.Context(), wrong, option.WithAPIKey(test.key))
			var refused *openai.Error
			if !errors.As(err, &refused) || refused.StatusCode != test.status || refused.Code != test.code || refused.Message == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAnMCPClientTalksToTheServiceOverHTTPAndStdio(t *testing.T) {
	t.Parallel()
	p, agent, _ := answering(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, transport := range map[string]func() mcp.Transport{
		"HTTP": func() mcp.Transport {
			return &mcp.StreamableClientTransport{Endpoint: "http://" + p.addr + "/mcp", HTTPClient: keyedClient(testKey)}
		},
		"standard streams": func() mcp.Transport {
			cmd := exec.Command(self, "mcp")
			cmd.Env = append(os.Environ(), childVariable+"="+string(API), "SLUICE_URL=http://"+p.addr, "SLUICE_API_KEY="+testKey)
			return &mcp.CommandTransport{Command: cmd}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pieces := make(chan string, 100)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { pieces <- r.Params.Message },
			})
			session, err := client.Connect(t.Context(), transport(), nil)
			if err != nil {
				t.Fatal(err)
			}
			call := func(tool string, arguments map[string]any) map[string]any {
				t.Helper()
				params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
				params.SetProgressToken(tool)
				got, err := session.CallTool(t.Context(), params)
				if err != nil || got.IsError {
					t.Fatalf("%s: %v, %+v", tool, err, got)
				}
				return got.StructuredContent.(map[string]any)
			}
			found := call("search", map[string]any{"query": "error code E-23", "topK": 1})["results"].([]any)[0].(map[string]any)
			if found["title"] != "Manual of the logger" {
				t.Errorf("found %v", found)
			}
			doc := call("fetch", map[string]any{"id": found["id"]})
			if text, _ := doc["text"].(string); text != manuals["logger"] {
				t.Errorf("fetched %v", doc)
			}
			answer := call("ask", map[string]any{"question": "How long is the warranty of the Aurora pump?"})
			if text, _ := answer["answer"].(string); !strings.Contains(text, "thirty months") || answer["agent"] != agent {
				t.Errorf("answered %v", answer)
			}
			if first := <-pieces; first == "" {
				t.Error("the answer did not come in pieces")
			}
			texts := 0
			for r, err := range session.Resources(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				got, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI})
				if err != nil || got.Contents[0].Text == "" {
					t.Errorf("%s: %v", r.URI, err)
				}
				texts++
			}
			if texts != len(manuals) {
				t.Errorf("%d resources, want %d", texts, len(manuals))
			}
			if err := session.Close(); err != nil {
				t.Errorf("the server did not end cleanly: %v", err)
			}
		})
	}
}

func TestTheRelayOutlivesItsService(t *testing.T) {
	t.Parallel()
	p, _, _ := answering(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "mcp", "--url", "http://"+p.addr, "--key", testKey)
	cmd.Env = append(os.Environ(), childVariable+"="+string(API))
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	search := func() error {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"query": "pump"}})
		return err
	}
	p.must(search())
	p.must(p.terminate())
	if err := search(); err == nil || !strings.Contains(err.Error(), "calling the service at http://"+p.addr) {
		t.Errorf("without its service: %v", err)
	}
	p.start()
	if err := search(); err != nil {
		t.Errorf("with the service back: %v", err)
	}
}

// keyedClient returns an HTTP client that sends the key with every request.
func keyedClient(key string) *http.Client {
	return &http.Client{Transport: withKey(key)}
}

type withKey string

// RoundTrip implements http.RoundTripper.
func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}
