package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// modelField is where a chat completion names its agent.
const modelField = "model"

// maxInstructions bounds the system messages of a chat completion, in bytes.
const maxInstructions = 64 << 10

// CreateChatCompletion implements StrictServerInterface.
func (s *server) CreateChatCompletion(ctx context.Context, r CreateChatCompletionRequestObject) (CreateChatCompletionResponseObject, error) {
	ctx, who := callerOf(ctx)
	agent, err := s.model(ctx, who, r.Body.Model)
	if err != nil {
		return nil, err
	}
	said, err := s.readChat(r.Body.Messages)
	if err != nil {
		return nil, err
	}
	query := chatQuery(*r.Body, said.question)
	if who.workspace() != agent.WorkspaceID {
		if said.instructions != "" {
			return nil, domain.Invalid("messages", "system messages to a public agent need an API key of its workspace; leave them out")
		}
		if err := visitorRule(query, s.opts.VisitorMaxTokens); err != nil {
			return nil, err
		}
	}
	t, err := s.openTurn(ctx, agent, query)
	if err != nil {
		return nil, err
	}
	kept := t.request.ConversationID != "" || value(r.Body.Store)
	t.request.Instructions, t.request.Unkept = said.instructions, !kept
	if t.request.ConversationID == "" && len(said.before) > 0 {
		t.request.Said = said.before
	}
	c := completion{id: "chatcmpl-" + s.NewID(), created: s.Now().Unix(), model: agent.ID}
	if value(r.Body.Stream) {
		c.usage = r.Body.StreamOptions != nil && value(r.Body.StreamOptions.IncludeUsage)
		return chatResponse(func(w http.ResponseWriter) error { return s.streamChat(ctx, w, t, c) }), nil
	}
	answer, err := t.answer(ctx, nil)
	if err != nil {
		return nil, err
	}
	return CreateChatCompletion200JSONResponse(c.whole(answer)), nil
}

// chatResponse is a completion that writes itself.
type chatResponse func(w http.ResponseWriter) error

// VisitCreateChatCompletionResponse implements CreateChatCompletionResponseObject.
func (f chatResponse) VisitCreateChatCompletionResponse(w http.ResponseWriter) error { return f(w) }

// model returns the agent of that id, if the caller may query it.
func (s *server) model(ctx context.Context, who caller, id string) (domain.Agent, error) {
	agent, err := s.agentToQuery(ctx, who, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		why := "there is no agent " + jsonbody.Describe(id) + "; GET /v1/models lists the ids that a model can have"
		return domain.Agent{}, &domain.Error{Code: domain.CodeNotFound, Message: why, Fields: []domain.FieldError{{Field: modelField, Message: why}}}
	}
	return agent, err
}

// chat is what the messages of a completion say.
type chat struct {
	question     string
	before       []domain.Message
	instructions string
}

// readChat takes messages apart that chatRule has passed: the last one of a user is the question.
func (s *server) readChat(messages []ChatMessage) (chat, error) {
	var c chat
	var instructions []string
	asked := 0
	for i, m := range messages {
		text := textOf(value(m.Content))
		switch {
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
	if n := utf8.RuneCountInString(c.question); n > s.opts.MaxQueryChars {
		faults = append(faults, domain.FieldError{Field: fmt.Sprintf("messages[%d].content", asked), Message: fmt.Sprintf(
			"has %d characters; a question has at most %d. Documents to answer from belong into a datastore of the agent", n, s.opts.MaxQueryChars)})
	}
	if n := len(c.instructions); n > maxInstructions {
		faults = append(faults, domain.FieldError{Field: "messages", Message: fmt.Sprintf("have system messages of %d bytes together; the limit is %s", n, byteSize(maxInstructions))})
	}
	return c, invalid(faults)
}

// chatQuery is the agent query that a completion comes to.
func chatQuery(body ChatRequest, question string) AgentQuery {
	q := AgentQuery{
		Query: question, ConversationId: body.ConversationId, VisitorId: body.User, Filters: body.Filters,
		Temperature: body.Temperature, TopP: body.TopP, MaxTokens: body.MaxCompletionTokens,
		PresencePenalty: body.PresencePenalty, FrequencyPenalty: body.FrequencyPenalty,
	}
	if q.Temperature != nil {
		q.Temperature = new(min(*q.Temperature, 1)) // OpenAI has 0 to 2, agents 0 to 1
	}
	if q.MaxTokens == nil {
		q.MaxTokens = body.MaxTokens
	}
	return q
}

// maxModels bounds the list of models, which has no pages.
const maxModels = 1000

// ListModels implements StrictServerInterface.
func (s *server) ListModels(ctx context.Context, _ ListModelsRequestObject) (ListModelsResponseObject, error) {
	ctx, who := callerOf(ctx)
	agents, err := s.agentsOf(ctx, who, maxModels)
	if err != nil {
		return nil, err
	}
	return ListModels200JSONResponse{Object: ChatModelListObjectList, Data: renderAll(agents, renderModel)}, nil
}

// agentsOf lists the agents that the caller may query and that belong to the workspace, newest first, up to a number.
func (s *server) agentsOf(ctx context.Context, who caller, most int) ([]domain.Agent, error) {
	if who.key.Can(domain.ScopeQuery) {
		agent, err := s.Agents.Agent(ctx, who.workspace(), who.key.AgentID)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return nil, nil // it has been deleted
		}
		return []domain.Agent{agent}, err
	}
	var all []domain.Agent
	for cursor := ""; ; {
		agents, next, err := s.Agents.Agents(ctx, who.workspace(), catalog.Page{Limit: min(catalog.MaxPageSize, most-len(all)), Cursor: cursor})
		if err != nil {
			return nil, err
		}
		if all = append(all, agents...); next == "" || len(all) >= most {
			return all, nil
		}
		cursor = next
	}
}

// GetModel implements StrictServerInterface.
func (s *server) GetModel(ctx context.Context, r GetModelRequestObject) (GetModelResponseObject, error) {
	ctx, who := callerOf(ctx)
	agent, err := s.model(ctx, who, r.Id)
	if err != nil {
		return nil, err
	}
	return GetModel200JSONResponse(renderModel(agent)), nil
}

func renderModel(a domain.Agent) ChatModel {
	return ChatModel{Id: a.ID, Object: ChatModelObjectModel, Created: a.CreatedAt.Unix(), OwnedBy: "sluice", Name: a.Name, Description: a.Description}
}
