package api

import (
	"context"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// ListConversations implements StrictServerInterface.
func (s *server) ListConversations(ctx context.Context, r ListConversationsRequestObject) (ListConversationsResponseObject, error) {
	ctx, who := callerOf(ctx)
	p := r.Params
	f := conversationFilter(p.AgentId, p.VisitorId, p.From, p.To, p.Query)
	conversations, next, err := s.Catalog.Conversations(ctx, who.workspace(), f, pageOf(p.Limit, p.Cursor))
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
	messages, err := s.Catalog.Messages(ctx, v.ID, limit)
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
	v, err = s.Catalog.DeleteConversation(ctx, who.workspace(), v.ID)
	if err != nil {
		return nil, err
	}
	return DeleteConversation200JSONResponse(renderConversation(v)), nil
}
