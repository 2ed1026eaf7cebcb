package service

import (
	"context"
	"net/http"
	"net/url"
)

// CreateAgent makes an agent that answers from the datastores, and returns its id.
func (s *Service) CreateAgent(ctx context.Context, name string, datastoreIDs ...string) (id string, err error) {
	var made struct {
		ID string `json:"id"`
	}
	err = s.do(ctx, http.MethodPost, "/agents", map[string]any{"name": name, "datastoreIds": datastoreIDs}, &made)
	return made.ID, err
}

// Agent is an agent as the service describes it.
type Agent struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	DatastoreIDs []string `json:"datastoreIds"`
}

// Agents calls each for every agent that the key may read, until it fails.
func (s *Service) Agents(ctx context.Context, each func(Agent) error) error {
	return list(ctx, s, "/agents", url.Values{}, each)
}

// Agent reads one agent.
func (s *Service) Agent(ctx context.Context, id string) (Agent, error) {
	var a Agent
	err := s.do(ctx, http.MethodGet, "/agents/"+url.PathEscape(id), nil, &a)
	return a, err
}

// Answer is what an agent says, with the fragments that it cites.
type Answer struct {
	Text    string     `json:"answer"`
	Sources []Fragment `json:"sources"`
}

// Ask puts a question to an agent, in a conversation of its own.
func (s *Service) Ask(ctx context.Context, agentID, question string) (Answer, error) {
	var a Answer
	err := s.do(ctx, http.MethodPost, "/agents/"+url.PathEscape(agentID)+"/query", map[string]any{"query": question}, &a)
	return a, err
}

// DeleteConversation deletes a conversation with all that was said in it.
func (s *Service) DeleteConversation(ctx context.Context, id string) error {
	return s.do(ctx, http.MethodDelete, "/conversations/"+url.PathEscape(id), nil, nil)
}
