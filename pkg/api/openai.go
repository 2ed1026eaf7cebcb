package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/neighbours"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/completions"
	"github.com/sluice/sluice/pkg/api/openai/files"
	"github.com/sluice/sluice/pkg/api/openai/responses"
	"github.com/sluice/sluice/pkg/api/openai/vectorstores"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// FileStore stores files, uploads and vector stores.
type FileStore interface {
	files.Store
	vectorstores.Store
}

// openAIEndpoints returns the endpoints that aren't in the OpenAPI document: OpenAI's and other projects'.
func (s *server) openAIEndpoints() []openai.Endpoint {
	others := neighbours.New(neighbours.Deps{
		Converter: s.Converter, Search: s.searchForNeighbours, Version: s.options.Version, MaxBytes: s.options.MaxUploadBytes,
		ReadTimeout: s.options.ReadTimeout, WriteTimeout: s.options.WriteTimeout,
	})
	return slices.Concat(
		[]openai.Endpoint{{
			ID: "CreateCompletion", Method: http.MethodPost, Path: "/v1/completions", Scope: domain.ScopeQuery, Body: openai.JSON, Serve: s.createCompletion,
		}},
		s.inference.Endpoints(),
		others.Endpoints(),
		s.newResponses().Endpoints(),
		s.fileEndpoints(),
	)
}

func (s *server) fileEndpoints() []openai.Endpoint {
	types := map[string]bool{}
	for _, f := range s.Formats {
		types[f.Type] = true
	}
	return slices.Concat(
		files.Endpoints(files.Deps{
			Store: s.Files, Originals: s.Originals, DetectType: s.DetectType, Uploads: s.uploads, NewID: s.NewID, Log: s.log, WriteTimeout: s.options.WriteTimeout,
		}),
		vectorstores.Endpoints(vectorstores.Deps{
			Store: s.Files, Watcher: s.Watcher, Retriever: s.Retriever, Chunks: s.Chunks, CheckLength: s.checkLength, Engine: s.options.Engines[0],
			Model: s.options.EmbeddingModels[0], Types: types, NewID: s.NewID, WriteTimeout: s.options.WriteTimeout, Log: s.log,
		}),
	)
}

// searchForNeighbours searches one datastore, just as POST /datastores/{id}/query does.
func (s *server) searchForNeighbours(ctx context.Context, datastoreID string, q neighbours.Query) ([]domain.Fragment, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datastoreToQuery(ctx, caller, datastoreID)
	if err != nil {
		return nil, err
	}
	found, err := s.searchDatastore(ctx, caller, retrieve.Request{
		WorkspaceID: d.WorkspaceID, Datastores: []domain.Datastore{d}, Query: q.Text, TopK: q.TopK, Where: q.Where,
	})
	return found.Fragments, err
}

// createCompletion answers a text completion as a chat completion whose only message is the prompt.
func (s *server) createCompletion(c *gin.Context) error {
	body, err := openai.BodyOf(c)
	if err != nil {
		return err
	}
	translated, unknown, faults := completions.Translate(body)
	faults = append(faults, completions.Rename(s.document.Operation(http.MethodPost, "/v1/chat/completions").CheckBody(translated))...)
	if err := problem.Invalid(faults); err != nil {
		return err
	}
	openai.Ignored(c, unknown...)
	var r ChatRequest
	if err := openai.DecodeValue(translated, &r); err != nil {
		return err
	}
	ctx, caller := access.CallerOf(c)
	t, err := s.newChat(ctx, caller, r)
	if err != nil {
		return err
	}
	out := completions.New(s.NewID(), t.request.Agent.ID, s.Now())
	if !orZero(r.Stream) {
		t.onIgnored(openAINames, func(names string) { openai.Ignored(c, names) })
		answer, err := t.answer(ctx, nil)
		if err != nil {
			return err
		}
		return openai.Reply(c, out.Whole(answer))
	}
	if err := admit.OpenStream(ctx, t.request.Agent.WorkspaceID); err != nil {
		return err
	}
	return out.Stream(c.Writer, completions.Streaming{
		WriteTimeout: s.options.WriteTimeout, Heartbeat: s.options.Heartbeat, Usage: r.StreamOptions != nil && orZero(r.StreamOptions.IncludeUsage),
		OnIgnored: func(set func(name, value string)) {
			t.onIgnored(openAINames, func(names string) {
				openai.Ignored(c, names)
				set(openai.IgnoredHeader, c.Writer.Header().Get(openai.IgnoredHeader))
			})
		},
		Explain: func(err error) problem.OpenAIError {
			s.metrics.streamed.Inc()
			return problem.OpenAI(problem.Explain(ctx, s.log, s.Secrets, err))
		},
	}, func(emit func(string) error) (answer.Answer, error) { return t.answer(ctx, emit) })
}

func (s *server) newResponses() *responses.Service {
	return responses.New(responses.Options{
		Store: s.Responses, Backend: responsesBackend{s}, Runner: s.Runner, ChatModels: s.ChatModels,
		FileOf:       func(f domain.Fragment) string { return "file-" + cmp.Or(f.FileID, f.DatasourceID) },
		WriteTimeout: s.options.WriteTimeout, Heartbeat: s.options.Heartbeat, Log: s.log, Now: s.Now, NewID: s.NewID,
	})
}

// responsesBackend implements responses.Backend under the rules for agent queries.
type responsesBackend struct{ *server }

// Agent implements responses.Backend.
func (b responsesBackend) Agent(ctx context.Context, id string) (domain.Agent, error) {
	ctx, caller := access.CallerOf(ctx)
	return b.model(ctx, caller, id)
}

// Datastore implements responses.Backend.
func (b responsesBackend) Datastore(ctx context.Context, workspaceID, id string) (domain.Datastore, error) {
	return b.Datastores.Datastore(ctx, workspaceID, id)
}

// QueryFault implements responses.Backend.
func (b responsesBackend) QueryFault(query string) string { return b.lengthFault(query) }

// VisitorFault implements responses.Backend.
func (b responsesBackend) VisitorFault(maxTokens *int) error {
	if limit := b.options.VisitorMaxTokens; maxTokens != nil && *maxTokens > limit {
		return domain.Invalid("max_output_tokens", "is %d; without an API key for the agent's workspace, the maximum is %d", *maxTokens, limit)
	}
	return nil
}

// Admit implements responses.Backend.
func (b responsesBackend) Admit(ctx context.Context, r answer.Request) (responses.Ask, error) {
	t, err := b.newAgentRequest(ctx, r.Agent, AgentQuery{Query: r.Query, VisitorId: optional(r.VisitorID)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		t.request = r
		return t.answer(ctx, emit)
	}, nil
}

// Explain implements responses.Backend.
func (b responsesBackend) Explain(ctx context.Context, err error) *domain.Error {
	return problem.Explain(ctx, b.log, b.Secrets, err)
}

// Sources implements responses.Backend.
func (b responsesBackend) Sources(sources []domain.Fragment) ([]byte, error) {
	encoded, err := json.Marshal(renderSources(sources))
	if err != nil {
		return nil, fmt.Errorf("encoding the sources: %w", err)
	}
	return encoded, nil
}

// operationsOf maps methods and Gin routes to the endpoints' operations, under every base path.
func operationsOf(endpoints []openai.Endpoint) map[string]*document.Operation {
	out := map[string]*document.Operation{}
	for _, e := range endpoints {
		op := &document.Operation{
			ID: e.ID, Scope: e.Scope, Undescribed: true, BodyRequired: e.Body == openai.JSON, Multipart: e.Body == openai.Multipart,
			Idempotent: e.Idempotent, Audited: e.Audited || e.Method == http.MethodDelete,
		}
		for _, base := range document.Bases {
			out[e.Method+" "+base+e.Path] = op
		}
	}
	return out
}

// mount registers the endpoints under a base path.
func (s *server) mount(r *gin.Engine, base string) {
	for _, e := range s.openai {
		r.Handle(e.Method, base+e.Path, func(c *gin.Context) {
			if err := e.Serve(c); err != nil {
				s.fail(c, err)
			}
		})
	}
}
