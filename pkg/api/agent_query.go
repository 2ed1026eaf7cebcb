package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
)

// QueryAgent implements StrictServerInterface.
func (s *server) QueryAgent(ctx context.Context, r QueryAgentRequestObject) (QueryAgentResponseObject, error) {
	return s.queryAgent(ctx, r.Id, *r.Body, value(r.Params.Explain))
}

// QueryAgentAlias implements StrictServerInterface.
func (s *server) QueryAgentAlias(ctx context.Context, r QueryAgentAliasRequestObject) (QueryAgentAliasResponseObject, error) {
	return s.queryAgent(ctx, r.Id, *r.Body, value(r.Params.Explain))
}

// answerResponse is what both query operations give: it writes itself.
type answerResponse func(w http.ResponseWriter) error

// VisitQueryAgentResponse implements QueryAgentResponseObject.
func (f answerResponse) VisitQueryAgentResponse(w http.ResponseWriter) error { return f(w) }

// VisitQueryAgentAliasResponse implements QueryAgentAliasResponseObject.
func (f answerResponse) VisitQueryAgentAliasResponse(w http.ResponseWriter) error { return f(w) }

func (s *server) queryAgent(ctx context.Context, id string, body AgentQuery, explain bool) (answerResponse, error) {
	holds := mayDropLineBreaks(ctx)
	ctx, who := callerOf(ctx)
	agent, err := s.agentToQuery(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if who.workspace() != agent.WorkspaceID {
		if err := visitorRule(body, s.opts.VisitorMaxTokens); err != nil {
			return nil, err
		}
	}
	before, err := s.answered(ctx, agent, body)
	if err != nil {
		return nil, err
	}
	if before != nil {
		return answerJSON(renderWhole(*before)), nil
	}
	t, err := s.openTurn(ctx, agent, body)
	if err != nil {
		return nil, err
	}
	t.request.Explain, t.reads, t.holds = explain, who.mayRead(agent.WorkspaceID), holds
	if body.Streaming != nil && *body.Streaming {
		return func(w http.ResponseWriter) error { return s.streamAnswer(ctx, w, t) }, nil
	}
	answer, err := t.ask(ctx, nil)
	if err != nil {
		return nil, err
	}
	return answerJSON(answer), nil
}

func answerJSON(answer AgentAnswer) answerResponse {
	return func(w http.ResponseWriter) error {
		return QueryAgent200JSONResponse{AgentAnswerJSONResponse(answer)}.VisitQueryAgentResponse(w)
	}
}

// agentToQuery returns the agent if the caller may query it: one of the caller's workspace, within the key's scope, or
// a public one. Without a key nothing is told about agents that are not public.
func (s *server) agentToQuery(ctx context.Context, who caller, id string) (domain.Agent, error) {
	if who.key.Can(domain.ScopeQuery) && who.key.AgentID != id {
		return domain.Agent{}, forbidden("the key %q may query only the agent %s", who.key.Name, who.key.AgentID)
	}
	err := known("agent", id)
	if err == nil && !who.anonymous {
		var agent domain.Agent
		if agent, err = s.Agents.Agent(ctx, who.workspace(), id); err == nil {
			return agent, nil
		}
	}
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return domain.Agent{}, err
	}
	if domain.ValidID(id) {
		agent, publicErr := s.Agents.PublicAgent(ctx, id)
		if publicErr == nil || domain.CodeOf(publicErr) != domain.CodeNotFound {
			return agent, publicErr
		}
	}
	if who.anonymous {
		return domain.Agent{}, errNoKey()
	}
	return domain.Agent{}, err
}

// turn is one question on its way to an answer.
type turn struct {
	server  *server
	request answer.Request
	reads   bool // who asks may read all that the agent's datastores hold
	account domain.Account
	named   conversationName
	holds   bool // of a streamed answer the last character is held back: see tokenWriter
}

// openTurn counts the query, last, so that a request that is refused costs nothing.
func (s *server) openTurn(ctx context.Context, agent domain.Agent, body AgentQuery) (*turn, error) {
	_, who := callerOf(ctx)
	named := s.conversationNamed(ctx, who, agent, body)
	if err := s.checkConversation(ctx, agent, named); err != nil {
		return nil, err
	}
	if agent.Visibility == domain.Public {
		if err := s.limits.allowVisitor(who, agent.ID, value(body.VisitorId)); err != nil {
			return nil, err
		}
	}
	account := who.account(agent.WorkspaceID)
	if err := s.Usage.Admit(ctx, account); err != nil {
		return nil, err
	}
	fresh, visitor := "", named.visitor
	if named.id == "" {
		if fresh = newConversation(ctx); visitor == "" {
			visitor = newVisitor(ctx)
		}
	}
	return &turn{server: s, account: account, named: named, request: answer.Request{
		Agent: agent, Query: body.Query, ConversationID: named.id, CallerID: named.callerID, NewConversationID: fresh, VisitorID: visitor,
		Filters: filtersOf(body.Filters), Temperature: body.Temperature, ModelName: as[string](body.ModelName), MaxTokens: body.MaxTokens,
		PresencePenalty: body.PresencePenalty, FrequencyPenalty: body.FrequencyPenalty, TopP: body.TopP,
		SystemPrompt: body.SystemPrompt, UserPrompt: body.UserPrompt,
		PromptType: as[domain.PromptType](body.PromptType), PromptTemplate: body.PromptTemplate,
	}}, nil
}

// ask gets the answer. emit, unless it is nil, is called with its text as it comes; put together it is the text that is
// returned, character by character.
func (t *turn) ask(ctx context.Context, emit func(string) error) (AgentAnswer, error) {
	answer, err := t.answer(ctx, emit)
	return renderAnswer(answer, answer.Text), err
}

// answer is ask before it is written down in the form of an endpoint: as who asks may see it, every line break an LF.
func (t *turn) answer(ctx context.Context, emit func(string) error) (answer.Answer, error) {
	var clean lineEnds
	if emit == nil {
		answer, err := t.server.Answerer.Answer(ctx, t.request, nil)
		t.count(ctx, answer)
		answer.Text = clean.next(answer.Text) + clean.close()
		return t.seen(answer), err
	}
	var text strings.Builder
	pass := func(piece string) error {
		if piece == "" {
			return nil
		}
		text.WriteString(piece)
		return emit(piece)
	}
	answer, err := t.server.Answerer.Answer(ctx, t.request, func(piece string) error { return pass(clean.next(piece)) })
	t.count(ctx, answer)
	if err == nil {
		err = pass(clean.close())
	}
	answer.Text = text.String()
	return t.seen(answer), err
}

// seen returns the answer without the parts that the caller may not see, and with the conversation id that the caller sent. For a
// caller who may not read all datastores, the explanation is reduced to the scores of the sources and to counts.
func (t *turn) seen(a answer.Answer) answer.Answer {
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
	if e.Model != nil {
		nameless := *e.Model
		nameless.Name = ""
		e.Model = &nameless
	}
	a.Explanation = &e
	return a
}

// renderWhole renders an answer that was not sent in pieces.
func renderWhole(a answer.Answer) AgentAnswer {
	var clean lineEnds
	return renderAnswer(a, clean.next(a.Text)+clean.close())
}

// count counts what an answer has cost.
func (t *turn) count(ctx context.Context, a answer.Answer) {
	t.server.countAside(ctx, t.account, map[domain.Metric]int64{
		domain.MetricTokens:       a.PromptTokens + a.CompletionTokens,
		domain.MetricPromptTokens: a.PromptTokens, domain.MetricCompletionTokens: a.CompletionTokens,
		domain.MetricEmbedTokens: a.EmbedTokens,
	})
}

func filtersOf(f *Filters) domain.Filters {
	var out domain.Filters
	if f == nil {
		return out
	}
	if f.CustomIds != nil {
		out.CustomIDs = *f.CustomIds
	}
	if f.DatasourceIds != nil {
		out.DatasourceIDs = *f.DatasourceIds
	}
	if f.Metadata != nil {
		out.Metadata = *f.Metadata
	}
	return out
}
