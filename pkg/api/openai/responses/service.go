// Package responses implements OpenAI's Responses API and Conversations API.
//
// To create a response, the service answers the last message in the input, treating the messages before it as the
// conversation so far. The model is an agent or a chat model. Responses are kept for Retention; until then, they can be
// continued and streamed again.
package responses

import (
	"context"
	"log/slog"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/domain"
)

// Store stores responses and conversations. See catalog/responses and catalog/conversations for each method's contract.
type Store interface {
	CreateResponse(ctx context.Context, r domain.StoredResponse, conversationID string, items ...domain.ConversationItem) error
	Response(ctx context.Context, ws, id string) (domain.StoredResponse, error)
	HoldResponse(ctx context.Context, id, holder string, status domain.ResponseStatus, until time.Time) (held bool, err error)
	FinishResponse(ctx context.Context, r domain.StoredResponse, conversationID string, items ...domain.ConversationItem) (stored bool, err error)
	CancelResponse(ctx context.Context, ws, id string) (domain.StoredResponse, error)
	DeleteResponse(ctx context.Context, ws, id string) error

	CreateItemConversation(ctx context.Context, c domain.ItemConversation, items ...domain.ConversationItem) (domain.ItemConversation, error)
	ItemConversation(ctx context.Context, ws, id string) (domain.ItemConversation, error)
	UpdateItemConversation(ctx context.Context, ws, id string, metadata map[string]string) (domain.ItemConversation, error)
	DeleteItemConversation(ctx context.Context, ws, id string) error
	AppendItems(ctx context.Context, ws, conversationID string, items ...domain.ConversationItem) error
	Items(ctx context.Context, conversationID, after string, newestFirst bool, limit int) ([]domain.ConversationItem, error)
	Item(ctx context.Context, conversationID, id string) (domain.ConversationItem, error)
	DeleteItem(ctx context.Context, conversationID, id string) error

	Lock(ctx context.Context, conversationID, holder string, ttl time.Duration) (bool, error)
	Unlock(ctx context.Context, conversationID, holder string) error
}

// Backend answers questions. pkg/api implements it with the same rules that apply to its other endpoints.
type Backend interface {
	// Agent returns the agent whose id the request names as its model, if the caller may query it.
	Agent(ctx context.Context, id string) (domain.Agent, error)
	// Datastore returns one of the workspace's datastores.
	Datastore(ctx context.Context, workspaceID, id string) (domain.Datastore, error)
	// QueryFault says why a question is too long, or returns "".
	QueryFault(query string) string
	// VisitorFault is called for requests to another workspace's agent. It returns an error if maxTokens is more than
	// visitors may request.
	VisitorFault(maxTokens *int) error
	// Admit counts the question and returns a function to answer it, or an error if a usage limit is reached.
	Admit(ctx context.Context, r answer.Request) (Ask, error)
	// Explain converts an error to one that clients may see.
	Explain(ctx context.Context, err error) *domain.Error
	// Sources returns the fragments as JSON, in the format used by all endpoints.
	Sources(sources []domain.Fragment) ([]byte, error)
}

// Ask answers a question. The pieces of text passed to emit add up to the answer.
type Ask func(ctx context.Context, r answer.Request, emit func(text string) error) (answer.Answer, error)

// Retention is how long responses are kept before the sweeper deletes them.
const Retention = domain.ResponseRetention

// Options are a Service's settings and dependencies. All are required.
type Options struct {
	Store   Store
	Backend Backend
	Runner  *Runner

	// ChatModels maps the configured chat models to their names in the API. It may be empty.
	ChatModels map[string]string
	// FileOf returns the id of the file that a fragment comes from.
	FileOf func(domain.Fragment) string

	WriteTimeout time.Duration // time limit for sending one event
	Heartbeat    time.Duration // interval between comments in a silent stream
	Log          *slog.Logger
	Now          func() time.Time
	NewID        func() string
}

// Service serves the endpoints.
type Service struct{ Options }

// New returns a Service.
func New(o Options) *Service { return &Service{o} }

// Kinds of objects.
var (
	responseKind     = openai.Kind{Prefix: object.ResponsePrefix, Name: "response"}
	conversationKind = openai.Kind{Prefix: "conv_", Name: "conversation"}
)

// Endpoints returns the endpoints. A key with query scope sees only the responses and conversations it has created.
func (s *Service) Endpoints() []openai.Endpoint {
	const query = domain.ScopeQuery
	return []openai.Endpoint{
		{ID: "CreateResponse", Method: "POST", Path: "/v1/responses", Scope: query, Body: openai.JSON, Serve: s.create},
		{ID: "GetResponse", Method: "GET", Path: "/v1/responses/:id", Scope: query, Serve: s.getResponse},
		{ID: "DeleteResponse", Method: "DELETE", Path: "/v1/responses/:id", Scope: query, Serve: s.deleteResponse},
		{ID: "CancelResponse", Method: "POST", Path: "/v1/responses/:id/cancel", Scope: query, Serve: s.cancelResponse},
		{ID: "ListInputItems", Method: "GET", Path: "/v1/responses/:id/input_items", Scope: query, Serve: s.listInput},

		{ID: "CompactResponse", Method: "POST", Path: "/v1/responses/compact", Scope: query, Body: openai.JSON, Serve: unavailable(
			"compaction is not available; send the whole conversation: only its most recent part goes to the model")},
		{ID: "CountInputTokens", Method: "POST", Path: "/v1/responses/input_tokens", Scope: query, Body: openai.JSON, Serve: unavailable(
			"tokens cannot be counted without creating a response; a response has them in its usage field")},

		{ID: "CreateItemConversation", Method: "POST", Path: "/v1/conversations", Scope: query, Body: openai.JSON, Idempotent: true, Serve: s.createConversation},
		{ID: "GetItemConversation", Method: "GET", Path: "/v1/conversations/:id", Scope: query, Serve: s.getConversation},
		{ID: "UpdateItemConversation", Method: "POST", Path: "/v1/conversations/:id", Scope: query, Body: openai.JSON, Serve: s.updateConversation},
		{ID: "DeleteItemConversation", Method: "DELETE", Path: "/v1/conversations/:id", Scope: query, Serve: s.deleteConversation},
		{ID: "CreateItems", Method: "POST", Path: "/v1/conversations/:id/items", Scope: query, Body: openai.JSON, Serve: s.createItems},
		{ID: "ListItems", Method: "GET", Path: "/v1/conversations/:id/items", Scope: query, Serve: s.listItems},
		{ID: "GetItem", Method: "GET", Path: "/v1/conversations/:id/items/:item", Scope: query, Serve: s.getItem},
		{ID: "DeleteItem", Method: "DELETE", Path: "/v1/conversations/:id/items/:item", Scope: query, Serve: s.deleteItem},
	}
}

// unavailable serves an endpoint of OpenAI's API that this service does not offer.
func unavailable(why string) func(*gin.Context) error {
	return func(*gin.Context) error { return domain.Errorf(domain.CodeNotFound, "%s", why) }
}
