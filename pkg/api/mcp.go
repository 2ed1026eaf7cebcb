package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/mcp"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Maximum size of a Model Context Protocol message in bytes.
const maxMessageBytes = 1 << 20

func (s *server) newMCP() *mcp.Handler {
	return mcp.NewHandler(mcpLibrary{s}, mcp.Options{Version: s.options.Version, WriteTimeout: s.options.WriteTimeout, Log: s.log, Arguments: document.Arguments})
}

// serveMCP answers a Model Context Protocol message. As for all endpoints, the key and the rate limit have already been
// checked.
func (s *server) serveMCP(c *gin.Context) {
	if err := access.CheckOrigin(c.Request, s.options.MCPHosts); err != nil {
		s.fail(c, err)
		return
	}
	raw, err := transfer.Read(c.Writer, c.Request, min(maxMessageBytes, s.options.MaxJSONBytes), s.options.ReadTimeout)
	if err != nil {
		s.fail(c, err)
		return
	}
	if _, faults := jsonbody.Parse(raw); len(faults) > 0 { // check the body as strictly as all others, including its nesting
		s.fail(c, problem.Invalid(faults))
		return
	}
	_, caller := access.CallerOf(c)
	s.mcp().Serve(c.Writer, c.Request, raw, !caller.MayRead(caller.Workspace()))
}

// failCall answers a rate-limited tool call with a failed result, so that the model waits. An HTTP error would make
// some clients end the session. failCall returns false if the message isn't a tool call.
func (s *server) failCall(c *gin.Context, e *domain.Error) bool {
	raw, err := transfer.Read(c.Writer, c.Request, min(maxMessageBytes, s.options.MaxJSONBytes), s.options.ReadTimeout)
	if err != nil {
		return false
	}
	call, isCall := mcp.ReadCall(raw)
	if isCall {
		s.mcp().FailCall(c.Writer, call, fmt.Errorf("%s; try again in %s s", e.Message, c.Writer.Header().Get("Retry-After")))
	}
	return isCall
}

// mcpLibrary implements mcp.Library. It covers everything the request's key may see.
type mcpLibrary struct{ *server }

var _ mcp.Library = mcpLibrary{}

// explain converts the error to one that clients may see, because tools pass on its full text.
func (l mcpLibrary) explain(ctx context.Context, err error) error {
	if err == nil || problem.IsClientGone(ctx, err) {
		return err
	}
	e := problem.Explain(ctx, l.log, l.Secrets, err)
	message := e.Message
	if len(e.Fields) > 1 {
		message = problem.JoinFaults(e.Fields)
	}
	return &domain.Error{Code: e.Code, Message: message}
}

// Search implements mcp.Library.
func (l mcpLibrary) Search(ctx context.Context, q mcp.Search) ([]domain.Fragment, error) {
	ctx, caller := access.CallerOf(ctx)
	found, err := l.search(ctx, caller, q)
	return found, l.explain(ctx, err)
}

func (l mcpLibrary) search(ctx context.Context, caller access.Caller, q mcp.Search) ([]domain.Fragment, error) {
	faults := append(q.Faults, jsonbody.FilterFaults(map[string]any{"filters": map[string]any{"metadata": q.Filters.Metadata}})...)
	if err := problem.Invalid(append(faults, l.queryFaults("query", q.Query)...)); err != nil {
		return nil, err
	}
	stores, err := l.datastoresOf(ctx, caller, q.Datastores)
	if err != nil || len(stores) == 0 {
		return nil, err
	}
	var found retrieve.Result
	err = l.countSearch(caller.Account(caller.Workspace()), q.Query, func() (err error) {
		found, err = l.Retriever.Retrieve(ctx, retrieve.Request{
			WorkspaceID: caller.Workspace(), Datastores: stores, Query: q.Query, TopK: q.Results, Filters: q.Filters, Where: q.Where,
		})
		return err
	})
	return found.Fragments, err
}

// queryFaults validates a query that has not been checked against a schema and returns its faults.
func (s *server) queryFaults(field, query string) []domain.FieldError {
	if strings.TrimSpace(query) == "" {
		return []domain.FieldError{{Field: field, Message: "is empty; it must contain text"}}
	}
	if fault := s.lengthFault(query); fault != "" {
		return []domain.FieldError{{Field: field, Message: fault}}
	}
	return nil
}

// datastoresOf returns the datastores with these ids or, if ids is empty, all datastores in the caller's workspace.
func (l mcpLibrary) datastoresOf(ctx context.Context, caller access.Caller, ids []string) ([]domain.Datastore, error) {
	if len(ids) == 0 {
		all, _, err := l.Datastores.Datastores(ctx, caller.Workspace(), catalog.Page{Limit: mcp.MaxDatastores + 1})
		if err == nil && len(all) > mcp.MaxDatastores {
			err = domain.Invalid("datastores", "is required: the workspace has more than %d datastores, the limit for one search", mcp.MaxDatastores)
		}
		return all, err
	}
	stores := make([]domain.Datastore, 0, len(ids))
	for _, id := range ids {
		err := checkID("datastore", id)
		var d domain.Datastore
		if err == nil {
			d, err = l.Datastores.Datastore(ctx, caller.Workspace(), id)
		}
		if domain.CodeOf(err) == domain.CodeNotFound {
			return nil, domain.Errorf(domain.CodeNotFound, "there is no datastore with id %s; omit datastores to search all of them", jsonbody.Describe(id))
		}
		if err != nil {
			return nil, err
		}
		stores = append(stores, d)
	}
	return stores, nil
}

// Datasource implements mcp.Library.
func (l mcpLibrary) Datasource(ctx context.Context, id string) (domain.Datasource, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := l.datasource(ctx, caller, id)
	return d, l.explain(ctx, err)
}

// Datasources implements mcp.Library.
func (l mcpLibrary) Datasources(ctx context.Context, cursor string, limit int) ([]domain.Datasource, string, error) {
	ctx, caller := access.CallerOf(ctx)
	page, next, err := l.server.Datasources.Datasources(ctx, caller.Workspace(), catalog.DatasourceFilter{}, catalog.Page{Cursor: cursor, Limit: limit})
	return page, next, l.explain(ctx, err)
}

// Chunks implements mcp.Library.
func (l mcpLibrary) Chunks(ctx context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error) {
	ctx, _ = access.CallerOf(ctx)
	chunks, err := l.server.Chunks.Chunks(ctx, d, from, limit)
	return chunks, l.explain(ctx, err)
}

// Agents implements mcp.Library.
func (l mcpLibrary) Agents(ctx context.Context, limit int) ([]domain.Agent, error) {
	ctx, caller := access.CallerOf(ctx)
	agents, err := l.agentsOf(ctx, caller, limit)
	return agents, l.explain(ctx, err)
}

// Ask implements mcp.Library. It is counted and stored like any other agent query.
func (l mcpLibrary) Ask(ctx context.Context, q mcp.Question, emit func(text string) error) (mcp.Answer, error) {
	ctx, caller := access.CallerOf(ctx)
	answer, err := l.answer(ctx, caller, q, emit)
	return mcp.Answer{
		Text: answer.Text, ConversationID: answer.ConversationID, Sources: answer.Sources, Sentences: answer.Sentences,
	}, l.explain(ctx, err)
}

func (l mcpLibrary) answer(ctx context.Context, caller access.Caller, q mcp.Question, emit func(text string) error) (answer.Answer, error) {
	faults := l.queryFaults("question", q.Text)
	q.ConversationID = strings.ToLower(q.ConversationID) // some languages write UUIDs in upper case; see resolveConversation
	if q.ConversationID != "" && !domain.ValidID(q.ConversationID) {
		faults = append(faults, domain.FieldError{Field: "conversationId", Message: fmt.Sprintf("is %s; send an id from an earlier answer, or leave it out", jsonbody.Describe(q.ConversationID))})
	}
	if err := problem.Invalid(faults); err != nil {
		return answer.Answer{}, err
	}
	agent, err := l.agentToQuery(ctx, caller, q.AgentID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return answer.Answer{}, domain.Errorf(domain.CodeNotFound, "there is no agent with id %s; omit agent to list the agents", jsonbody.Describe(q.AgentID))
	}
	if err != nil {
		return answer.Answer{}, err
	}
	t, err := l.newAgentRequest(ctx, agent, AgentQuery{Query: q.Text, ConversationId: optional(q.ConversationID), Rectangles: &q.Rectangles})
	if err != nil {
		return answer.Answer{}, err
	}
	return t.answer(ctx, emit)
}
