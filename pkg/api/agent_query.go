package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/lineends"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/locate"
)

// QueryAgent implements StrictServerInterface.
func (s *server) QueryAgent(ctx context.Context, r QueryAgentRequestObject) (QueryAgentResponseObject, error) {
	return s.queryAgent(ctx, r.Id, *r.Body, orZero(r.Params.Explain))
}

// QueryAgentAlias implements StrictServerInterface.
func (s *server) QueryAgentAlias(ctx context.Context, r QueryAgentAliasRequestObject) (QueryAgentAliasResponseObject, error) {
	return s.queryAgent(ctx, r.Id, *r.Body, orZero(r.Params.Explain))
}

func (s *server) queryAgent(ctx context.Context, id string, body AgentQuery, explain bool) (responseFunc, error) {
	holds := mayDropLineBreaks(ctx)
	ctx, caller := access.CallerOf(ctx)
	agent, err := s.agentToQuery(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	if err := s.checkLength("query", body.Query); err != nil {
		return nil, err
	}
	if caller.Workspace() != agent.WorkspaceID {
		if err := visitorRule(body, s.options.VisitorMaxTokens); err != nil {
			return nil, err
		}
	}
	before, err := s.storedAnswer(ctx, agent, body)
	if err != nil {
		return nil, err
	}
	if before != nil {
		return answerJSON(renderAnswerText(*before), nil), nil
	}
	t, err := s.newAgentRequest(ctx, agent, body)
	if err != nil {
		return nil, err
	}
	t.request.Explain, t.reads, t.holds = explain, caller.MayRead(agent.WorkspaceID), holds
	if body.Streaming != nil && *body.Streaming {
		if err := admit.OpenStream(ctx, agent.WorkspaceID); err != nil {
			return nil, err
		}
		return func(w http.ResponseWriter) error { return s.streamAnswer(ctx, w, t) }, nil
	}
	var ignored *string
	t.onIgnored(agentNames, func(names string) { ignored = &names })
	answer, err := t.ask(ctx, nil)
	if err != nil {
		return nil, err
	}
	return answerJSON(answer, ignored), nil
}

func answerJSON(answer AgentAnswer, ignored *string) responseFunc {
	return func(w http.ResponseWriter) error {
		return QueryAgent200JSONResponse{AgentAnswerJSONResponse{
			Body: answer, Headers: AgentAnswerResponseHeaders{SluiceIgnoredParameters: ignored},
		}}.VisitQueryAgentResponse(w)
	}
}

// agentToQuery returns the agent if the caller may query it. A key with query scope may only query the agent it was
// created for.
func (s *server) agentToQuery(ctx context.Context, caller access.Caller, id string) (domain.Agent, error) {
	if caller.Key.Can(domain.ScopeQuery) && caller.Key.AgentID != id {
		return domain.Agent{}, problem.Forbidden("the key %q can only query the agent %s", caller.Key.Name, caller.Key.AgentID)
	}
	return toQuery(caller, "agent", id,
		func() (domain.Agent, error) { return s.Agents.Agent(ctx, caller.Workspace(), id) },
		func() (domain.Agent, error) { return s.Agents.PublicAgent(ctx, id) })
}

// toQuery returns an agent or datastore that the caller may query, looking first in the caller's workspace (`own`) and
// then among all public resources (`public`). To a caller without a key, a private resource looks like a missing one.
func toQuery[T any](caller access.Caller, kind, id string, own, public func() (T, error)) (v T, err error) {
	if err = checkID(kind, id); err == nil && !caller.Anonymous {
		if v, err = own(); err == nil {
			return v, nil
		}
	}
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return v, err
	}
	if domain.ValidID(id) {
		v, publicErr := public()
		if publicErr == nil || domain.CodeOf(publicErr) != domain.CodeNotFound {
			return v, publicErr
		}
	}
	if caller.Anonymous {
		return v, problem.MissingKey()
	}
	return v, err
}

// storedAnswer returns the answer that an earlier run of this request stored in the conversation, or nil. If the same
// question has been asked again since, it may return the newer answer, which is just as good.
func (s *server) storedAnswer(ctx context.Context, agent domain.Agent, body AgentQuery) (*answer.Answer, error) {
	if !idempotency.IsRepeated(ctx) {
		return nil, nil
	}
	_, caller := access.CallerOf(ctx)
	named := s.resolveConversation(ctx, caller, agent, body)
	id, visitor := named.id, named.visitor
	if id == "" {
		id = idempotency.KeyedID(ctx, "conversation")
	}
	v, err := s.Conversations.Conversation(ctx, agent.WorkspaceID, agent.ID, id)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && visitor != "" && visitor != v.VisitorID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const newest = 20 // number of messages to search; retries come within seconds, so few questions follow
	messages, err := s.Conversations.Messages(ctx, v.ID, newest)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(messages); i++ {
		asked, said := messages[i-1], messages[i]
		if asked.Role == domain.RoleUser && said.Role == domain.RoleAssistant && asked.Text == body.Query &&
			!asked.CreatedAt.Before(idempotency.Begun(ctx)) {
			repeated := &answer.Answer{
				Text: said.Text, ConversationID: v.PublicID(), VisitorID: v.VisitorID, Sources: said.Sources, Sentences: said.Sentences,
			}
			if orZero(body.Rectangles) {
				s.locateSpans(ctx, agent.WorkspaceID, *repeated)
			}
			return repeated, nil
		}
	}
	return nil, nil
}

// agentRequest is an agent query in progress.
type agentRequest struct {
	server  *server
	request answer.Request
	reads   bool // whether the caller may read all content in the agent's datastores
	account domain.Account
	named   conversationName
	holds   bool // whether to hold back the last character of a streamed answer; see sse.TokenWriter

	rectangles bool // whether to locate the spans cited by the answer's sentences
}

// newAgentRequest validates and prepares the query. A query rejected because of its conversation or the visitor's rate
// limit does not count towards the usage limit.
func (s *server) newAgentRequest(ctx context.Context, agent domain.Agent, body AgentQuery) (*agentRequest, error) {
	_, caller := access.CallerOf(ctx)
	named := s.resolveConversation(ctx, caller, agent, body)
	if err := s.checkConversation(ctx, agent, named); err != nil {
		return nil, err
	}
	if agent.Visibility == domain.Public {
		if err := s.limits.AllowVisitor(caller, agent.ID, orZero(body.VisitorId)); err != nil {
			return nil, err
		}
	}
	account := caller.Account(agent.WorkspaceID)
	if err := s.Usage.Admit(ctx, account); err != nil {
		return nil, err
	}
	filters, where, err := filtersOf(body.Filters)
	if err != nil {
		return nil, err
	}
	fresh, visitor := "", named.visitor
	if named.id == "" {
		if fresh = idempotency.KeyedID(ctx, "conversation"); visitor == "" {
			visitor = idempotency.KeyedID(ctx, "visitor")
		}
	}
	return &agentRequest{server: s, account: account, named: named, rectangles: orZero(body.Rectangles), request: answer.Request{
		Agent: agent, Query: body.Query, ConversationID: named.id, CallerID: named.callerID, NewConversationID: fresh, VisitorID: visitor,
		Filters: filters, Where: where, Temperature: body.Temperature, ModelName: convert[string](body.ModelName), MaxTokens: body.MaxTokens,
		PresencePenalty: body.PresencePenalty, FrequencyPenalty: body.FrequencyPenalty, TopP: body.TopP,
		SystemPrompt: body.SystemPrompt, UserPrompt: body.UserPrompt,
		PromptType: convert[domain.PromptType](body.PromptType), PromptTemplate: body.PromptTemplate,
	}}, nil
}

// ask returns the answer. If `emit` is set, ask calls it with each piece of text as it arrives. The concatenated pieces
// are exactly the returned text.
func (t *agentRequest) ask(ctx context.Context, emit func(string) error) (AgentAnswer, error) {
	answer, err := t.answer(ctx, emit)
	return renderAnswer(answer, answer.Text), err
}

// answer is like ask, but doesn't format the answer for an endpoint. The result has LF line breaks and contains only
// what the caller may see.
func (t *agentRequest) answer(ctx context.Context, emit func(string) error) (answer.Answer, error) {
	if emit == nil {
		answer, err := t.server.Answerer.Answer(ctx, t.request, nil)
		t.count(ctx, answer)
		t.locate(ctx, answer)
		answer.Text = lineends.Normalize(answer.Text)
		return t.visibleAnswer(answer), err
	}
	var clean lineends.Normalizer
	var text strings.Builder
	pass := func(piece string) error {
		if piece == "" {
			return nil
		}
		text.WriteString(piece)
		return emit(piece)
	}
	answer, err := t.server.Answerer.Answer(ctx, t.request, func(piece string) error { return pass(clean.Next(piece)) })
	t.count(ctx, answer)
	if err == nil {
		err = pass(clean.Close())
	}
	answer.Text = text.String()
	t.locate(ctx, answer)
	return t.visibleAnswer(answer), err
}

// locate adds PDF page rectangles for the passages supporting the answer, if the request asks for them. It runs after
// the text has been sent, so that looking up the rectangles does not delay the text.
func (t *agentRequest) locate(ctx context.Context, a answer.Answer) {
	if t.rectangles {
		t.server.locateSpans(ctx, t.request.Agent.WorkspaceID, a)
	}
}

// locateSpans adds PDF page rectangles for the passages supporting the answer.
func (s *server) locateSpans(ctx context.Context, workspaceID string, a answer.Answer) {
	if s.Locator != nil {
		s.Locator.LocateSpans(ctx, workspaceID, locate.Answer{Sources: a.Sources, Sentences: a.Sentences})
	}
}

// visibleAnswer returns the answer without anything the caller may not read, and with the conversation id as the caller
// sent it. Unless the caller may read all datastores, it reduces the explanation to counts and the sources' scores.
func (t *agentRequest) visibleAnswer(a answer.Answer) answer.Answer {
	if t.named.callerID != "" && a.ConversationID != "" {
		a.ConversationID = t.named.callerID
	}
	if a.Explanation == nil || t.reads {
		return a
	}
	e := *a.Explanation
	e.Datastores, e.Terms, e.Words, e.Dropped.Chunks, e.Fragments = nil, map[string]float64{}, nil, nil, nil
	for _, f := range a.Explanation.Fragments {
		if slices.ContainsFunc(a.Sources, func(s domain.Fragment) bool { return s.ChunkID == f.ChunkID }) {
			f.DatastoreID, f.Merged, f.Duplicates = "", nil, nil
			e.Fragments = append(e.Fragments, f)
		}
	}
	if e.Plan != nil { // sub-questions may quote content the caller may not read
		plan := *e.Plan
		e.Parts, plan.Questions, plan.Next = nil, nil, ""
		e.Plan = &plan
	}
	if e.Model != nil {
		nameless := *e.Model
		nameless.Name = ""
		e.Model = &nameless
	}
	a.Explanation = &e
	return a
}

// renderAnswerText renders an answer that was not streamed.
func renderAnswerText(a answer.Answer) AgentAnswer {
	return renderAnswer(a, lineends.Normalize(a.Text))
}

func (t *agentRequest) count(ctx context.Context, a answer.Answer) {
	t.server.countDetached(ctx, t.account, map[domain.Metric]int64{
		domain.MetricTokens:       a.PromptTokens + a.CompletionTokens,
		domain.MetricPromptTokens: a.PromptTokens, domain.MetricCompletionTokens: a.CompletionTokens,
		domain.MetricEmbedTokens: a.EmbedTokens,
	})
}

// filtersOf converts a request's filters. It returns domain.CodeInvalid for errors not caught by the body's validation.
func filtersOf(f *Filters) (domain.Filters, *filter.Filter, error) {
	if f == nil {
		return domain.Filters{}, nil, nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		return domain.Filters{}, nil, fmt.Errorf("encoding the filters: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return domain.Filters{}, nil, fmt.Errorf("decoding the filters: %w", err)
	}
	where, faults := jsonbody.Where(fields, "filters")
	return domain.Filters{CustomIDs: orZero(f.CustomIds), DatasourceIDs: orZero(f.DatasourceIds), Metadata: orZero(f.Metadata)}, where, problem.Invalid(faults)
}

// visitorRule rejects some parameters in queries to a public agent from callers without a key for its workspace.
// Otherwise anyone could replace the prompts and use the model for any purpose at the operator's expense.
func visitorRule(body AgentQuery, maxTokens int) error {
	var faults []domain.FieldError
	var names []string
	for _, override := range []struct {
		field string
		given bool
	}{
		{"modelName", body.ModelName != nil},
		{"promptTemplate", body.PromptTemplate != nil},
		{"promptType", body.PromptType != nil},
		{"systemPrompt", body.SystemPrompt != nil},
		{"userPrompt", body.UserPrompt != nil},
	} {
		if override.given {
			names = append(names, override.field)
			faults = append(faults, domain.FieldError{Field: override.field, Message: "requires an API key for the agent's workspace; send one, or leave the field out"})
		}
	}
	if len(faults) > 0 {
		return &domain.Error{Code: domain.CodeUnauthorized, Fields: faults, Message: fmt.Sprintf(
			"overriding a public agent's %s requires an API key for its workspace; leave these fields out, or send the header Authorization: Bearer <key>", strings.Join(names, ", "))}
	}
	if n := orZero(body.MaxTokens); n > maxTokens {
		return domain.Invalid("maxTokens", "is %d; without an API key for the agent's workspace, the maximum is %d", n, maxTokens)
	}
	return nil
}

// agentNames is a `rename` function for onIgnored. Agent queries use the same parameter names as the answer package.
func agentNames(name string) string { return name }

// onIgnored makes the answerer call `set` if it ignores any of the request's parameters. It calls `set` before emitting
// any text, with the value for openai.IgnoredHeader. `rename` maps the answer package's parameter names to the
// endpoint's.
func (t *agentRequest) onIgnored(rename func(string) string, set func(names string)) {
	t.request.Ignored = func(names []string) {
		renamed := make([]string, len(names))
		for i, name := range names {
			renamed[i] = rename(name)
		}
		set(strings.Join(renamed, ", "))
	}
}
