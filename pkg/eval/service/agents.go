package service

import (
	"context"

	"github.com/sluice/sluice/pkg/client"
)

// CreateAgent creates an agent that answers from the datastores and returns its id.
func (s *Service) CreateAgent(ctx context.Context, name string, datastoreIDs ...string) (id string, err error) {
	made, err := s.client.CreateAgent(ctx, client.AgentCreate{Name: name, DatastoreIds: &datastoreIDs})
	return value(made).Id, err
}

// AgentOptions are an agent's optional settings. Each of them delays the first token of an answer.
type AgentOptions struct {
	QueryPlanning        bool   // let a model plan the searches for questions that need more than one
	UnsupportedSentences string // mark, drop or keep
}

// CreateAgentWith is like CreateAgent but also sets the agent's options.
func (s *Service) CreateAgentWith(ctx context.Context, name string, o AgentOptions, datastoreIDs ...string) (id string, err error) {
	unsupported := client.UnsupportedSentences(o.UnsupportedSentences)
	made, err := s.client.CreateAgent(ctx, client.AgentCreate{
		Name: name, DatastoreIds: &datastoreIDs, QueryPlanning: &o.QueryPlanning, UnsupportedSentences: &unsupported,
	})
	return value(made).Id, err
}

// Agent describes an agent.
type Agent struct {
	ID           string
	Name         string
	DatastoreIDs []string
}

// Agents calls `each` for every agent the key may read. It stops when `each` returns an error.
func (s *Service) Agents(ctx context.Context, each func(Agent) error) error {
	return forEach(s.first.ListAgents(ctx), agentOf, each)
}

// Agent returns one agent.
func (s *Service) Agent(ctx context.Context, id string) (Agent, error) {
	a, err := s.first.GetAgent(ctx, id)
	return agentOf(value(a)), err
}

func agentOf(a client.Agent) Agent {
	return Agent{ID: a.Id, Name: a.Name, DatastoreIDs: a.DatastoreIds}
}

// Answer is an agent's answer with the fragments it cites.
type Answer struct {
	Text           string
	Sources        []Fragment
	ConversationID string
}

// Ask sends a question to an agent in a new conversation.
func (s *Service) Ask(ctx context.Context, agentID, question string) (Answer, error) {
	return s.Continue(ctx, agentID, "", question)
}

// Continue sends a question to an agent in the conversation with the given id. An empty id begins a new conversation.
func (s *Service) Continue(ctx context.Context, agentID, conversationID, question string) (Answer, error) {
	said, err := s.client.QueryAgent(ctx, agentID, client.AgentQuery{Query: question, ConversationId: set(conversationID)})
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Text: said.Answer, Sources: make([]Fragment, len(said.Sources)), ConversationID: said.ConversationId}
	for i, f := range said.Sources {
		a.Sources[i] = Fragment{
			Text: f.Text, Score: f.Score, Source: f.Source, DatasourceID: f.DatasourceId, DatasourceName: f.DatasourceName,
			CustomID: value(f.CustomId), ChunkID: f.ChunkId, Offset: f.Offset,
		}
	}
	return a, nil
}

// Stream sends a question to an agent in a new conversation and calls `each` with each part of the answer as it
// arrives. It returns the conversation's id. Errors within the stream are *client.Error with status 200.
func (s *Service) Stream(ctx context.Context, agentID, question string, each func(piece string)) (conversationID string, err error) {
	said, err := s.client.StreamAgent(ctx, agentID, client.AgentQuery{Query: question}, func(piece string) error {
		each(piece)
		return nil
	})
	return value(said).ConversationId, err
}

// DeleteConversation deletes a conversation with all its messages.
func (s *Service) DeleteConversation(ctx context.Context, id string) error {
	return s.client.DeleteConversation(ctx, id)
}
