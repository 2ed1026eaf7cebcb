package api

import (
	"context"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
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
	v, err := s.conversation(ctx, who.workspace(), r.Id)
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

// conversation finds a conversation whose agent is not known. A workspace has few agents, and each is one look-up.
func (s *server) conversation(ctx context.Context, ws, id string) (domain.Conversation, error) {
	p := catalog.Page{Limit: catalog.MaxPageSize}
	for {
		agents, next, err := s.Catalog.Agents(ctx, ws, p)
		if err != nil {
			return domain.Conversation{}, err
		}
		for _, agent := range agents {
			v, err := s.Catalog.Conversation(ctx, ws, agent.ID, id)
			if domain.CodeOf(err) != domain.CodeNotFound {
				return v, err
			}
		}
		if next == "" {
			return domain.Conversation{}, domain.NotFound("conversation", shorten(id))
		}
		p.Cursor = next
	}
}
