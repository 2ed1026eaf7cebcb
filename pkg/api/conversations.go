package api

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog"
)

// ListConversations implements StrictServerInterface.
func (s *server) ListConversations(ctx context.Context, r ListConversationsRequestObject) (ListConversationsResponseObject, error) {
	ctx, who := callerOf(ctx)
	conversations, next, err := s.Catalog.Conversations(ctx, who.workspace(), value(r.Params.AgentId), pageOf(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	return ListConversations200JSONResponse{Data: renderAll(conversations, renderConversation), NextCursor: optional(next)}, nil
}

// GetConversation implements StrictServerInterface.
func (s *server) GetConversation(ctx context.Context, r GetConversationRequestObject) (GetConversationResponseObject, error) {
	ctx, who := callerOf(ctx)
	if err := known("conversation", r.Id); err != nil {
		return nil, err
	}
	v, err := s.Catalog.Conversation(ctx, who.workspace(), "", r.Id)
	if err != nil {
		return nil, err
	}
	limit := catalog.DefaultPageSize
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	messages, err := s.Catalog.Messages(ctx, v.ID, limit)
	if err != nil {
		return nil, err
	}
	c := renderConversation(v)
	return GetConversation200JSONResponse{
		Id: c.Id, AgentId: c.AgentId, VisitorId: c.VisitorId, Title: c.Title, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		Messages: renderAll(messages, renderMessage),
	}, nil
}
