package client

import (
	"context"
	"iter"
	"net/http"
)

// CreateAgent creates an agent.
func (c *Client) CreateAgent(ctx context.Context, a AgentCreate) (*Agent, error) {
	return decodeOne[Agent](c.endpoints.CreateAgent(ctx, nil, a))
}

// GetAgent returns an agent.
func (c *Client) GetAgent(ctx context.Context, id string) (*Agent, error) {
	return callByID[Agent](ctx, id, c.endpoints.GetAgent)
}

// ListAgents iterates over the workspace's agents, newest first.
func (c *Client) ListAgents(ctx context.Context) iter.Seq2[Agent, error] {
	return pages[Agent](func(limit *int, cursor *string) (*http.Response, error) {
		return c.endpoints.ListAgents(ctx, &ListAgentsParams{Limit: limit, Cursor: cursor})
	})
}

// UpdateAgent updates an agent. Nil fields in p are left unchanged.
func (c *Client) UpdateAgent(ctx context.Context, id string, p AgentPatch) (*Agent, error) {
	return callByIDWithBody[AgentPatch, Agent](ctx, id, p, c.endpoints.UpdateAgent)
}

// DeleteAgent deletes an agent.
func (c *Client) DeleteAgent(ctx context.Context, id string) error {
	return deleteByID(ctx, id, c.endpoints.DeleteAgent)
}

// QueryAgent asks an agent and returns the complete answer. Use [Client.StreamAgent] to get the answer as it is
// written.
func (c *Client) QueryAgent(ctx context.Context, id string, q AgentQuery) (*AgentAnswer, error) {
	q.Streaming = nil
	return postByID[QueryAgentParams, AgentQuery, AgentAnswer](ctx, id, nil, q, c.endpoints.QueryAgent)
}

// ExplainAgent asks an agent and also returns which fragments the answer is based on.
func (c *Client) ExplainAgent(ctx context.Context, id string, q AgentQuery) (*AgentAnswer, error) {
	q.Streaming = nil
	explain := true
	return postByID[QueryAgentParams, AgentQuery, AgentAnswer](ctx, id, &QueryAgentParams{Explain: &explain}, q, c.endpoints.QueryAgent)
}

// ListConversations iterates over conversations, newest first. p may be nil. Its Limit and Cursor are ignored.
func (c *Client) ListConversations(ctx context.Context, p *ListConversationsParams) iter.Seq2[Conversation, error] {
	asked := value(p)
	return pages[Conversation](func(limit *int, cursor *string) (*http.Response, error) {
		asked := asked // iterators may run concurrently
		asked.Limit, asked.Cursor = limit, cursor
		return c.endpoints.ListConversations(ctx, &asked)
	})
}

// GetConversation returns a conversation with its newest 200 messages, oldest first.
func (c *Client) GetConversation(ctx context.Context, id string) (*ConversationDetail, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	limit := pageSize
	return decodeOne[ConversationDetail](c.endpoints.GetConversation(ctx, id, &GetConversationParams{Limit: &limit}))
}

// DeleteConversation permanently deletes a conversation with its messages.
func (c *Client) DeleteConversation(ctx context.Context, id string) error {
	return deleteByID(ctx, id, func(ctx context.Context, id string, body Empty, editors ...RequestEditorFn) (*http.Response, error) {
		return c.endpoints.DeleteConversation(ctx, id, nil, body, editors...)
	})
}
