package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// historyMessages is how many earlier messages of a conversation an answerer is given.
const historyMessages = 20

// QueryAgent implements StrictServerInterface.
func (s *server) QueryAgent(ctx context.Context, r QueryAgentRequestObject) (QueryAgentResponseObject, error) {
	return s.queryAgent(ctx, r.Id, *r.Body)
}

// QueryAgentAlias implements StrictServerInterface.
func (s *server) QueryAgentAlias(ctx context.Context, r QueryAgentAliasRequestObject) (QueryAgentAliasResponseObject, error) {
	return s.queryAgent(ctx, r.Id, *r.Body)
}

// answerResponse is what both query operations give: it writes itself.
type answerResponse func(w http.ResponseWriter) error

// VisitQueryAgentResponse implements QueryAgentResponseObject.
func (f answerResponse) VisitQueryAgentResponse(w http.ResponseWriter) error { return f(w) }

// VisitQueryAgentAliasResponse implements QueryAgentAliasResponseObject.
func (f answerResponse) VisitQueryAgentAliasResponse(w http.ResponseWriter) error { return f(w) }

func (s *server) queryAgent(ctx context.Context, id string, body AgentQuery) (answerResponse, error) {
	ctx, who := callerOf(ctx)
	agent, err := s.agentToQuery(ctx, who, id)
	if err != nil {
		return nil, err
	}
	t, err := s.openTurn(ctx, agent, body)
	if err != nil {
		return nil, err
	}
	if body.Streaming != nil && *body.Streaming {
		return func(w http.ResponseWriter) error { return s.streamAnswer(ctx, w, t) }, nil
	}
	answer, err := t.ask(ctx, func(string) error { return nil })
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter) error {
		return QueryAgent200JSONResponse{AgentAnswerJSONResponse(answer)}.VisitQueryAgentResponse(w)
	}, nil
}

// agentToQuery returns the agent if the caller may query it: one of the caller's workspace, within the key's scope, or
// a public one. Without a key nothing is told about agents that are not public.
func (s *server) agentToQuery(ctx context.Context, who caller, id string) (domain.Agent, error) {
	if who.key.Can(domain.ScopeQuery) && who.key.AgentID != id {
		return domain.Agent{}, domain.Errorf(domain.CodeUnauthorized, "the key %q may query only the agent %s", who.key.Name, who.key.AgentID)
	}
	err := known("agent", id)
	if err == nil && !who.anonymous {
		var agent domain.Agent
		if agent, err = s.Catalog.Agent(ctx, who.workspace(), id); err == nil {
			return agent, nil
		}
	}
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return domain.Agent{}, err
	}
	if domain.ValidID(id) {
		agent, publicErr := s.Catalog.PublicAgent(ctx, id)
		if publicErr == nil || domain.CodeOf(publicErr) != domain.CodeNotFound {
			return agent, publicErr
		}
	}
	if who.anonymous {
		return domain.Agent{}, errNoKey()
	}
	return domain.Agent{}, err
}

// turn is one question of a conversation on its way to an answer.
type turn struct {
	server       *server
	request      AnswerRequest
	conversation domain.Conversation
	visitorID    string
}

// openTurn finds everything an answer needs, and counts the query against the quota last, so that a request that
// cannot be answered costs nothing.
func (s *server) openTurn(ctx context.Context, agent domain.Agent, body AgentQuery) (*turn, error) {
	t := &turn{server: s, visitorID: s.NewID(), request: AnswerRequest{
		Agent: override(agent, body), Query: body.Query, Filters: filtersOf(body.Filters), MaxTokens: body.MaxTokens,
		PresencePenalty: body.PresencePenalty, FrequencyPenalty: body.FrequencyPenalty, TopP: body.TopP,
	}}
	for _, id := range agent.DatastoreIDs {
		d, err := s.Catalog.Datastore(ctx, agent.WorkspaceID, id)
		if domain.CodeOf(err) == domain.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		t.request.Datastores = append(t.request.Datastores, d)
	}
	if err := s.checkQuota(ctx, agent.WorkspaceID); err != nil {
		return nil, err
	}
	if err := t.openConversation(ctx, agent, body); err != nil {
		return nil, err
	}
	return t, s.consumeQuery(ctx, agent.WorkspaceID)
}

func (t *turn) openConversation(ctx context.Context, agent domain.Agent, body AgentQuery) error {
	given := body.VisitorId != nil && *body.VisitorId != ""
	if given {
		t.visitorID = *body.VisitorId
	}
	v := domain.Conversation{ID: t.server.NewID(), WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, VisitorID: t.visitorID}
	if body.ConversationId != nil && *body.ConversationId != "" {
		v.ID = *body.ConversationId
	}
	var err error
	if t.conversation, err = t.server.Catalog.EnsureConversation(ctx, v); err != nil {
		return err
	}
	if !given {
		t.visitorID = t.conversation.VisitorID
	}
	t.request.History, err = t.server.Catalog.Messages(ctx, t.conversation.ID, historyMessages)
	return err
}

// ask gets the answer, passes its text on as it comes, and keeps question and answer. The text that is passed on, the
// text that is returned and the text that is kept are the same, character by character.
func (t *turn) ask(ctx context.Context, emit func(string) error) (AgentAnswer, error) {
	var clean lineEnds
	var text strings.Builder
	pass := func(piece string) error {
		if piece == "" {
			return nil
		}
		text.WriteString(piece)
		return emit(piece)
	}
	answer, err := t.server.Answerer.Answer(ctx, t.request, func(piece string) error { return pass(clean.next(piece)) })
	if err != nil {
		return AgentAnswer{}, err
	}
	if text.Len() == 0 { // an answerer need not stream
		if err := pass(clean.next(answer.Text)); err != nil {
			return AgentAnswer{}, err
		}
	}
	if err := pass(clean.close()); err != nil {
		return AgentAnswer{}, err
	}
	t.keep(ctx, text.String(), answer)
	return AgentAnswer{
		Answer: text.String(), ConversationId: t.conversation.ID, VisitorId: t.visitorID, Sources: renderSources(answer.Sources),
	}, nil
}

// keep stores the exchange and counts its tokens. The answer has been paid for and given: a failure to keep it is
// logged, not answered, and a client that left meanwhile does not stop it.
func (t *turn) keep(ctx context.Context, text string, answer Answer) {
	s := t.server
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := s.Catalog.AppendMessages(ctx, t.conversation.ID,
		domain.Message{ID: s.NewID(), Role: domain.RoleUser, Text: t.request.Query},
		domain.Message{ID: s.NewID(), Role: domain.RoleAssistant, Text: text, Sources: answer.Sources},
	)
	if err != nil {
		s.log.Error("keeping a conversation", "request", requestID(ctx), "conversation", t.conversation.ID, "error", err)
	}
	if answer.Tokens > 0 {
		if err := s.Catalog.Count(ctx, t.conversation.WorkspaceID, domain.MetricTokens, answer.Tokens); err != nil {
			s.log.Error("counting tokens", "request", requestID(ctx), "error", err)
		}
	}
}

// checkQuota refuses when the month's quota of queries or tokens is used up.
func (s *server) checkQuota(ctx context.Context, ws string) error {
	if s.opts.QuotaQueries == 0 && s.opts.QuotaTokens == 0 {
		return nil
	}
	used, err := s.Catalog.Usage(ctx, ws, s.Now())
	if err != nil {
		return err
	}
	if limit := s.opts.QuotaQueries; limit > 0 && used[domain.MetricQueries] >= limit {
		return errUsage(limit, "agent queries")
	}
	if limit := s.opts.QuotaTokens; limit > 0 && used[domain.MetricTokens] >= limit {
		return errUsage(limit, "model tokens")
	}
	return nil
}

// consumeQuery counts one query; of many at once, no more pass than the quota has left.
func (s *server) consumeQuery(ctx context.Context, ws string) error {
	ok, err := s.Catalog.Consume(ctx, ws, domain.MetricQueries, 1, s.opts.QuotaQueries)
	if err == nil && !ok {
		return errUsage(s.opts.QuotaQueries, "agent queries")
	}
	return err
}

func errUsage(limit int64, what string) error {
	return domain.Errorf(domain.CodeUsageLimit, "the workspace has used up its %d %s of this month; the count starts anew with the next month (UTC)", limit, what)
}

// override puts the request's parameters in the agent's place.
func override(a domain.Agent, b AgentQuery) domain.Agent {
	domain.AgentPatch{
		ModelName: as[string](b.ModelName), Temperature: b.Temperature, SystemPrompt: b.SystemPrompt, UserPrompt: b.UserPrompt,
		PromptType: as[domain.PromptType](b.PromptType), PromptTemplate: b.PromptTemplate,
	}.Apply(&a)
	return a
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
