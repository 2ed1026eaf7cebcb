package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/answer"
	answerchat "github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/evidence"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/inference"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/rules"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// Maximum total length of the system messages in a chat completion, in bytes.
const maxInstructions = 64 << 10

// CreateChatCompletion implements StrictServerInterface.
func (s *server) CreateChatCompletion(ctx context.Context, r CreateChatCompletionRequestObject) (CreateChatCompletionResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	t, err := s.newChat(ctx, caller, *r.Body)
	if err != nil {
		return nil, err
	}
	agent := t.request.Agent
	c := completion{id: "chatcmpl-" + s.NewID(), created: s.Now().Unix(), model: agent.ID}
	if orZero(r.Body.Stream) {
		if err := admit.OpenStream(ctx, agent.WorkspaceID); err != nil {
			return nil, err
		}
		c.usage = r.Body.StreamOptions != nil && orZero(r.Body.StreamOptions.IncludeUsage)
		return responseFunc(func(w http.ResponseWriter) error { return s.streamChat(ctx, w, t, c) }), nil
	}
	var ignored *string
	t.onIgnored(openAINames, func(names string) { ignored = &names })
	answer, err := t.answer(ctx, nil)
	return CreateChatCompletion200JSONResponse{
		Body: c.whole(answer), Headers: CreateChatCompletion200ResponseHeaders{SluiceIgnoredParameters: ignored},
	}, err
}

// newChat checks a chat completion and returns the corresponding agent query.
func (s *server) newChat(ctx context.Context, caller access.Caller, body ChatRequest) (*agentRequest, error) {
	agent, err := s.model(ctx, caller, body.Model)
	if err != nil {
		return nil, err
	}
	said, err := s.readChat(body.Messages)
	if err != nil {
		return nil, err
	}
	query := chatQuery(body, said.question)
	if caller.Workspace() != agent.WorkspaceID {
		if said.instructions != "" {
			return nil, domain.Invalid("messages", "contains system messages, which require an API key for the agent's workspace; remove them")
		}
		if len(orZero(body.Tools)) > 0 || len(said.after) > 0 {
			return nil, domain.Invalid("tools", "require an API key for the agent's workspace; leave them out")
		}
		if err := visitorRule(query, s.options.VisitorMaxTokens); err != nil {
			return nil, err
		}
	}
	t, err := s.newAgentRequest(ctx, agent, query)
	if err != nil {
		return nil, err
	}
	kept := t.request.ConversationID != "" || orZero(body.Store)
	t.request.Instructions, t.request.Ephemeral = said.instructions, !kept
	t.request.Stop, t.request.Continuation = stopSequences(orZero(body.Stop)), said.after
	if t.request.Tools, err = readTools(orZero(body.Tools)); err != nil {
		return nil, err
	}
	if len(t.request.Tools) > 0 {
		t.request.ToolChoice = toolChoice(orZero(body.ToolChoice))
	}
	if t.request.ResponseFormat, err = responseFormat(orZero(body.ResponseFormat)); err != nil {
		return nil, err
	}
	if t.request.ConversationID == "" && len(said.before) > 0 {
		t.request.History = said.before
	}
	return t, nil
}

// model returns the agent that a chat completion names as its model, or an error if the caller may not query the agent.
func (s *server) model(ctx context.Context, caller access.Caller, id string) (domain.Agent, error) {
	agent, err := s.agentToQuery(ctx, caller, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		why := "there is no agent " + jsonbody.Describe(id) + "; send the id of an agent from GET /v1/models. Chat model names work only with POST /v1/responses"
		return domain.Agent{}, &domain.Error{Code: domain.CodeNotFound, Message: why, Fields: []domain.FieldError{{Field: problem.ModelField, Message: why}}}
	}
	return agent, err
}

// chat holds the parsed messages of a chat completion.
type chat struct {
	question     string
	before       []domain.Message
	after        []answerchat.Turn // the agent's tool calls for the question, and their results
	instructions string
}

// readChat parses messages already checked by the rules package. The last user message is the question.
func (s *server) readChat(messages []ChatMessage) (chat, error) {
	var c chat
	var instructions []string
	asked := 0
	for i, m := range messages {
		text := rules.MessageText(orZero(m.Content))
		if m.Role == ChatMessageRoleUser {
			c.after = nil // drop tool calls for earlier questions: the history contains only final answers
		}
		switch {
		case m.Role == ChatMessageRoleTool:
			c.after = append(c.after, answerchat.Turn{Role: domain.RoleUser, Text: text, ResultOf: orZero(m.ToolCallId)})
		case len(orZero(m.ToolCalls)) > 0:
			c.after = append(c.after, answerchat.Turn{Role: domain.RoleAssistant, Text: text, Calls: readCalls(*m.ToolCalls)})
		case strings.TrimSpace(text) == "":
		case m.Role == ChatMessageRoleAssistant:
			c.before = append(c.before, domain.Message{Role: domain.RoleAssistant, Text: text})
		case m.Role == ChatMessageRoleUser:
			c.before, asked = append(c.before, domain.Message{Role: domain.RoleUser, Text: text}), i
		default:
			instructions = append(instructions, text)
		}
	}
	last := len(c.before) - 1
	c.before, c.question = c.before[:last], c.before[last].Text
	c.instructions = strings.Join(instructions, "\n\n")
	var faults []domain.FieldError
	if fault := s.lengthFault(c.question); fault != "" {
		faults = append(faults, domain.FieldError{Field: fmt.Sprintf("messages[%d].content", asked), Message: fault + ". Add long texts to one of the agent's datastores instead"})
	}
	if n := len(c.instructions); n > maxInstructions {
		faults = append(faults, domain.FieldError{Field: "messages", Message: fmt.Sprintf("contains %d bytes of system messages; the limit is %s", n, jsonbody.ByteSize(maxInstructions))})
	}
	return c, problem.Invalid(faults)
}

func chatQuery(body ChatRequest, question string) AgentQuery {
	q := AgentQuery{
		Query: question, ConversationId: body.ConversationId, VisitorId: body.User, Filters: body.Filters,
		Temperature: body.Temperature, TopP: body.TopP, MaxTokens: body.MaxCompletionTokens,
		PresencePenalty: body.PresencePenalty, FrequencyPenalty: body.FrequencyPenalty, Rectangles: body.Rectangles,
	}
	if q.Temperature != nil {
		q.Temperature = new(min(*q.Temperature, 1)) // OpenAI allows 0 to 2, agents allow 0 to 1
	}
	q.MaxTokens = cmp.Or(q.MaxTokens, body.MaxTokens)
	return q
}

// Maximum number of models listed. The list is capped because it isn't paginated.
const maxModels = 1000

// ListModels implements StrictServerInterface.
func (s *server) ListModels(ctx context.Context, _ ListModelsRequestObject) (ListModelsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	agents, err := s.agentsOf(ctx, caller, maxModels)
	models := lists.Map(agents, renderModel)
	if caller.MayRead(caller.Workspace()) {
		models = append(models, lists.Map(s.inference.List(), renderOtherModel)...)
	}
	return ListModels200JSONResponse{Object: ChatModelListObjectList, Data: models}, err
}

// agentsOf returns at most `limit` agents in the caller's workspace that the caller may query, newest first.
func (s *server) agentsOf(ctx context.Context, caller access.Caller, limit int) ([]domain.Agent, error) {
	if caller.Key.Can(domain.ScopeQuery) {
		agent, err := s.Agents.Agent(ctx, caller.Workspace(), caller.Key.AgentID)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return nil, nil // the key's agent has been deleted
		}
		return []domain.Agent{agent}, err
	}
	var all []domain.Agent
	for cursor := ""; ; {
		agents, next, err := s.Agents.Agents(ctx, caller.Workspace(), catalog.Page{Limit: min(catalog.MaxPageSize, limit-len(all)), Cursor: cursor})
		if err != nil {
			return nil, err
		}
		if all = append(all, agents...); next == "" || len(all) >= limit {
			return all, nil
		}
		cursor = next
	}
}

// GetModel implements StrictServerInterface.
func (s *server) GetModel(ctx context.Context, r GetModelRequestObject) (GetModelResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if m, found := s.inference.Find(r.Id); found && caller.MayRead(caller.Workspace()) {
		return GetModel200JSONResponse(renderOtherModel(m)), nil
	}
	agent, err := s.model(ctx, caller, r.Id)
	return GetModel200JSONResponse(renderModel(agent)), err
}

func renderModel(a domain.Agent) ChatModel {
	return ChatModel{Id: a.ID, Object: ChatModelObjectModel, Created: a.CreatedAt.Unix(), OwnedBy: "sluice", Name: a.Name, Description: a.Description}
}

// renderOtherModel renders a model that is not an agent. `created` stays 0, because these models have no creation time.
func renderOtherModel(m inference.Model) ChatModel {
	return ChatModel{Id: m.ID, Object: ChatModelObjectModel, OwnedBy: "sluice", Name: m.ID, Description: m.Description}
}

// completion holds the values shared by all chunks in a chat completion.
type completion struct {
	id, model string
	created   int64
	usage     bool // whether the stream ends with a token usage chunk
}

// chatChunk is a chunk in a streamed completion. It matches OpenAI's format exactly, including fields that must be null
// rather than absent.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chunkPiece `json:"choices"`

	Usage json.RawMessage `json:"usage,omitempty"` // absent unless the client asks for usage; then null in all chunks but the last

	Sources        *[]Source         `json:"sources,omitempty"` // sent with the finish reason
	Sentences      *[]AnswerSentence `json:"sentences,omitempty"`
	Grounded       *bool             `json:"grounded,omitempty"`
	ConversationID string            `json:"conversationId,omitempty"`
	VisitorID      string            `json:"visitorId,omitempty"`
}

type chunkPiece struct {
	Index        int                     `json:"index"`
	Delta        chunkDelta              `json:"delta"`
	Logprobs     *string                 `json:"logprobs"`
	FinishReason *ChatChoiceFinishReason `json:"finish_reason"`
}

type chunkDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`

	ToolCalls []chunkCall `json:"tool_calls,omitempty"`
}

func (c completion) chunk(pieces ...chunkPiece) chatChunk {
	chunk := chatChunk{ID: c.id, Object: "chat.completion.chunk", Created: c.created, Model: c.model, Choices: pieces}
	if c.usage {
		chunk.Usage = json.RawMessage("null")
	}
	return chunk
}

// whole renders an answer that was not streamed.
func (c completion) whole(a answer.Answer) ChatCompletion {
	choice := ChatChoice{FinishReason: finishOf(a)}
	choice.Message.Role = ChatChoiceMessageRoleAssistant
	if len(a.ToolCalls) > 0 {
		choice.Message.ToolCalls = new(lists.Map(a.ToolCalls, renderCall))
	}
	if a.Text != "" || len(a.ToolCalls) == 0 {
		choice.Message.Content = &a.Text
	}
	out := ChatCompletion{
		Id: c.id, Object: ChatCompletionObjectChatCompletion, Created: c.created, Model: c.model,
		Choices: []ChatChoice{choice}, Usage: usageOf(a), Sources: renderSources(a.Sources),
		Sentences: evidence.Sentences(a.Text, a.Sources, a.Sentences), Grounded: len(a.Sources) > 0, ConversationId: optional(a.ConversationID),
	}
	if out.ConversationId != nil {
		out.VisitorId = &a.VisitorID
	}
	return out
}

func finishOf(a answer.Answer) ChatChoiceFinishReason {
	if a.Cut {
		return ChatChoiceFinishReasonLength
	}
	if len(a.ToolCalls) > 0 {
		return ChatChoiceFinishReasonToolCalls
	}
	return ChatChoiceFinishReasonStop
}

func usageOf(a answer.Answer) ChatUsage {
	return ChatUsage{PromptTokens: a.PromptTokens, CompletionTokens: a.CompletionTokens, TotalTokens: a.PromptTokens + a.CompletionTokens}
}

// streamChat streams the answer in chunks: the role, the text, the tool call deltas, the finish reason with the
// sources, the token usage (if requested) and the end marker.
func (s *server) streamChat(ctx context.Context, w http.ResponseWriter, t *agentRequest, c completion) error {
	events := sse.New(w, s.options.WriteTimeout)
	stop := events.KeepAlive(s.options.Heartbeat)
	defer stop()
	t.onIgnored(openAINames, func(names string) { events.SetHeader(openai.IgnoredHeader, names) })
	send := func(chunk any) error {
		encoded, err := json.Marshal(chunk)
		if err != nil {
			return fmt.Errorf("encoding a chunk of the completion: %w", err)
		}
		return events.Send("", string(encoded))
	}
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		return send(c.chunk(chunkPiece{Delta: chunkDelta{Role: string(ChatMessageRoleAssistant), Content: new("")}}))
	}
	if len(t.request.Tools) > 0 {
		t.request.OnCall = func(d answerchat.CallDelta) error {
			if err := begin(); err != nil {
				return err
			}
			return send(c.chunk(chunkPiece{Delta: chunkDelta{ToolCalls: []chunkCall{renderCallDelta(d)}}}))
		}
	}
	answer, err := t.answer(ctx, func(text string) error {
		if err := begin(); err != nil {
			return err
		}
		return send(c.chunk(chunkPiece{Delta: chunkDelta{Content: &text}}))
	})
	if err == nil {
		err = begin()
	}
	if err == nil {
		err = c.finish(send, answer)
	}
	if err == nil {
		return events.Send("", "[DONE]")
	}
	stop() // only this function writes from here on, so IsOpen can no longer change
	if !events.IsOpen() || ctx.Err() != nil {
		return err
	}
	s.metrics.streamed.Inc()
	return send(problem.OpenAI(problem.Explain(ctx, s.log, s.Secrets, err)))
}

// finish sends the chunks that follow the text and the tool calls.
func (c completion) finish(send func(chunk any) error, a answer.Answer) error {
	reason := finishOf(a)
	last := c.chunk(chunkPiece{FinishReason: &reason})
	last.Sources, last.Sentences = new(renderSources(a.Sources)), new(evidence.Sentences(a.Text, a.Sources, a.Sentences))
	last.Grounded, last.ConversationID = new(len(a.Sources) > 0), a.ConversationID
	if last.ConversationID != "" {
		last.VisitorID = a.VisitorID
	}
	if err := send(last); err != nil || !c.usage {
		return err
	}
	usage, err := json.Marshal(usageOf(a))
	if err != nil {
		return fmt.Errorf("encoding the usage: %w", err)
	}
	used := c.chunk([]chunkPiece{}...)
	used.Choices, used.Usage = []chunkPiece{}, usage
	return send(used)
}
