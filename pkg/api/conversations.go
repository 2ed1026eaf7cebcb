package api

import (
	"context"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// ConversationStore stores questions and answers.
type ConversationStore interface {
	// Conversation reads a conversation of the workspace, with that agent unless agentID is empty.
	Conversation(ctx context.Context, ws, agentID, id string) (domain.Conversation, error)
	// FindConversation returns the conversation with the id, and whether there is one; of another workspace or agent it is
	// domain.CodeNotFound.
	FindConversation(ctx context.Context, ws, agentID, id string) (v domain.Conversation, exists bool, err error)
	ConversationsByCallerID(ctx context.Context, ws, agentID, visitorID, callerID string, limit int) ([]domain.Conversation, error)
	Conversations(ctx context.Context, ws string, f catalog.ConversationFilter, p catalog.Page) ([]domain.Conversation, string, error)
	// Messages returns the newest messages, oldest first.
	Messages(ctx context.Context, conversationID string, limit int) ([]domain.Message, error)
	// EachMessage calls f with every message, oldest first, holding few at a time, until f fails, and returns its error.
	EachMessage(ctx context.Context, conversationID string, f func(domain.Message) error) error
	DeleteConversation(ctx context.Context, ws, id string) (domain.Conversation, error)
}

// ListConversations implements StrictServerInterface.
func (s *server) ListConversations(ctx context.Context, r ListConversationsRequestObject) (ListConversationsResponseObject, error) {
	ctx, who := callerOf(ctx)
	p := r.Params
	f := conversationFilter(p.AgentId, p.VisitorId, p.From, p.To, p.Query)
	conversations, next, err := s.Conversations.Conversations(ctx, who.workspace(), f, pageOf(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	return ListConversations200JSONResponse{Data: renderAll(conversations, renderConversation), NextCursor: optional(next)}, nil
}

// conversationFilter is the filter that parameters ask for.
func conversationFilter(agent, visitor *string, from, to *time.Time, text *string) catalog.ConversationFilter {
	return catalog.ConversationFilter{AgentID: value(agent), VisitorID: value(visitor), From: value(from), To: value(to), Search: value(text)}
}

// GetConversation implements StrictServerInterface.
func (s *server) GetConversation(ctx context.Context, r GetConversationRequestObject) (GetConversationResponseObject, error) {
	ctx, who := callerOf(ctx)
	v, err := s.conversation(ctx, who, r.Id, r.Params.AgentId, r.Params.VisitorId)
	if err != nil {
		return nil, err
	}
	limit := catalog.DefaultPageSize
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	messages, err := s.Conversations.Messages(ctx, v.ID, limit)
	if err != nil {
		return nil, err
	}
	return GetConversation200JSONResponse(renderDetail(v, messages)), nil
}

// DeleteConversation implements StrictServerInterface.
func (s *server) DeleteConversation(ctx context.Context, r DeleteConversationRequestObject) (DeleteConversationResponseObject, error) {
	ctx, who := callerOf(ctx)
	v, err := s.conversation(ctx, who, r.Id, r.Params.AgentId, r.Params.VisitorId)
	if err != nil {
		return nil, err
	}
	v, err = s.Conversations.DeleteConversation(ctx, who.workspace(), v.ID)
	if err != nil {
		return nil, err
	}
	return DeleteConversation200JSONResponse(renderConversation(v)), nil
}
