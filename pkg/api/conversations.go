package api

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/locate"
)

// ConversationStore reads and deletes conversations.
type ConversationStore interface {
	// Conversation returns one of the workspace's conversations. If agentID is set, the conversation must be with that
	// agent.
	Conversation(ctx context.Context, ws, agentID, id string) (domain.Conversation, error)
	// FindConversation returns the conversation with the id and reports whether it exists. It returns
	// domain.CodeNotFound if the conversation belongs to another workspace or agent.
	FindConversation(ctx context.Context, ws, agentID, id string) (v domain.Conversation, exists bool, err error)
	ConversationsByCallerID(ctx context.Context, ws, agentID, visitorID, callerID string, limit int) ([]domain.Conversation, error)
	Conversations(ctx context.Context, ws string, f catalog.ConversationFilter, p catalog.Page) ([]domain.Conversation, string, error)
	// Messages returns the newest messages, oldest first.
	Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error)
	// EachMessage calls f with every message, oldest first, keeping only a few in memory. If f fails, EachMessage stops
	// and returns the error.
	EachMessage(ctx context.Context, conversationID string, f func(domain.Message) error) error
	DeleteConversation(ctx context.Context, ws, id string) (domain.Conversation, error)
}

// ListConversations implements StrictServerInterface.
func (s *server) ListConversations(ctx context.Context, r ListConversationsRequestObject) (ListConversationsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	p := r.Params
	f := conversationFilter(p.AgentId, p.VisitorId, p.From, p.To, p.Query)
	conversations, next, err := s.Conversations.Conversations(ctx, caller.Workspace(), f, pageOf(p.Limit, p.Cursor))
	return ListConversations200JSONResponse{Data: lists.Map(conversations, renderConversation), NextCursor: optional(next)}, err
}

func conversationFilter(agent, visitor *string, from, to *time.Time, text *string) catalog.ConversationFilter {
	return catalog.ConversationFilter{AgentID: orZero(agent), VisitorID: orZero(visitor), From: orZero(from), To: orZero(to), Search: orZero(text)}
}

// GetConversation implements StrictServerInterface.
func (s *server) GetConversation(ctx context.Context, r GetConversationRequestObject) (GetConversationResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	v, err := s.conversation(ctx, caller, r.Id, r.Params.AgentId, r.Params.VisitorId)
	if err != nil {
		return nil, err
	}
	messages, err := s.Conversations.Messages(ctx, v.ID, cmp.Or(orZero(r.Params.Limit), catalog.DefaultPageSize))
	if err == nil && orZero(r.Params.Rectangles) && s.Locator != nil {
		answers := lists.Map(messages, func(m domain.Message) locate.Answer { return locate.Answer{Sources: m.Sources, Sentences: m.Sentences} })
		s.Locator.LocateSpans(ctx, caller.Workspace(), answers...)
	}
	return GetConversation200JSONResponse(renderDetail(v, messages)), err
}

// DeleteConversation implements StrictServerInterface.
func (s *server) DeleteConversation(ctx context.Context, r DeleteConversationRequestObject) (DeleteConversationResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	v, err := s.conversation(ctx, caller, r.Id, r.Params.AgentId, r.Params.VisitorId)
	if err != nil {
		return nil, err
	}
	v, err = s.Conversations.DeleteConversation(ctx, caller.Workspace(), v.ID)
	return DeleteConversation200JSONResponse(renderConversation(v)), err
}

// conversationName identifies the conversation that a question starts or continues.
type conversationName struct {
	id       string // id in the catalog; "" if the question names no conversation
	callerID string // id chosen by the caller, if it is not a UUID
	visitor  string // the conversation's visitor; "" means the stored one, or a new one
}

// resolveConversation identifies the conversation that a question names. A UUID is the conversation's id; it is
// lower-cased because some languages print UUIDs in upper case.
//
// Callers choose any other name themselves, so it may be easy to guess. Such a name is scoped to the agent and, for
// callers without a key for the agent's workspace, to the visitor.
func (s *server) resolveConversation(ctx context.Context, caller access.Caller, agent domain.Agent, body AgentQuery) conversationName {
	given := orZero(body.ConversationId)
	named := conversationName{id: strings.ToLower(given), visitor: orZero(body.VisitorId)}
	if given == "" || domain.ValidID(named.id) {
		return named
	}
	owner := ""
	if caller.Workspace() != agent.WorkspaceID {
		if named.visitor == "" {
			if named.visitor = idempotency.KeyedID(ctx, "visitor"); named.visitor == "" {
				named.visitor = s.NewID()
			}
		}
		owner = named.visitor
	}
	named.id, named.callerID = domain.CallerConversationID(agent.WorkspaceID, agent.ID, owner, given), given
	return named
}

// checkConversation rejects a conversation that belongs to another workspace, agent or visitor. The answerer makes the
// same check, but later. An unknown id is valid: it starts a new conversation.
func (s *server) checkConversation(ctx context.Context, agent domain.Agent, named conversationName) error {
	if named.id == "" {
		return nil
	}
	v, exists, err := s.Conversations.FindConversation(ctx, agent.WorkspaceID, agent.ID, named.id)
	if err == nil && exists && named.visitor != "" && named.visitor != v.VisitorID {
		err = conversationNotFound(named.public())
	}
	return err
}

// public returns the conversation's id as the caller sent it.
func (n conversationName) public() string {
	if n.callerID != "" {
		return n.callerID
	}
	return n.id
}

func conversationNotFound(id string) error {
	return domain.NotFound("conversation", jsonbody.Shorten(id))
}

// conversation finds a conversation in the caller's workspace by its UUID, or by a name that a caller chose. If several
// conversations have that name, agentID and visitorID select one; they may be nil.
func (s *server) conversation(ctx context.Context, caller access.Caller, id string, agentID, visitorID *string) (domain.Conversation, error) {
	if domain.ValidID(id) {
		v, err := s.Conversations.Conversation(ctx, caller.Workspace(), orZero(agentID), id)
		if err == nil && orZero(visitorID) != "" && orZero(visitorID) != v.VisitorID {
			err = conversationNotFound(id)
		}
		return v, err
	}
	if utf8.RuneCountInString(id) > domain.MaxCallerIDCharacters || !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return domain.Conversation{}, conversationNotFound(id)
	}
	found, err := s.Conversations.ConversationsByCallerID(ctx, caller.Workspace(), orZero(agentID), orZero(visitorID), id, 2)
	switch {
	case err != nil:
		return domain.Conversation{}, err
	case len(found) == 0:
		return domain.Conversation{}, conversationNotFound(id)
	case len(found) > 1:
		return domain.Conversation{}, domain.Errorf(domain.CodeConflict,
			"several conversations have the id %s: specify its agent and visitor, as in ?agentId=%s&visitorId=%s; GET /conversations lists them",
			jsonbody.Describe(id), found[0].AgentID, url.QueryEscape(found[0].VisitorID))
	}
	return found[0], nil
}
