package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// AgentStore reads and writes agents. As in all stores, methods with a workspace parameter return domain.CodeNotFound
// if the agent belongs to another workspace.
type AgentStore interface {
	CreateAgent(ctx context.Context, a domain.Agent) (domain.Agent, error)
	Agent(ctx context.Context, ws, id string) (domain.Agent, error)
	// PublicAgent returns a public agent from any workspace, or domain.CodeNotFound if no public agent has the id.
	PublicAgent(ctx context.Context, id string) (domain.Agent, error)
	// Agents returns a page of agents and the next page's cursor, or "" after the last page. All list methods work like
	// this.
	Agents(ctx context.Context, ws string, p catalog.Page) ([]domain.Agent, string, error)
	UpdateAgent(ctx context.Context, ws, id string, p domain.AgentPatch) (domain.Agent, error)
	DeleteAgent(ctx context.Context, ws, id string) (domain.Agent, error)
}

// ListAgents implements StrictServerInterface.
func (s *server) ListAgents(ctx context.Context, r ListAgentsRequestObject) (ListAgentsResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	agents, next, err := s.Agents.Agents(ctx, caller.Workspace(), pageOf(r.Params.Limit, r.Params.Cursor))
	return ListAgents200JSONResponse{Data: lists.Map(agents, renderAgent), NextCursor: optional(next)}, err
}

// CreateAgent implements StrictServerInterface.
func (s *server) CreateAgent(ctx context.Context, r CreateAgentRequestObject) (CreateAgentResponseObject, error) {
	extra := s.agentExtra(ctx)
	ctx, caller := access.CallerOf(ctx)
	b := r.Body
	patch := agentPatch(AgentPatch{
		Name: &b.Name, Description: b.Description, ModelName: b.ModelName, Temperature: b.Temperature, Visibility: b.Visibility,
		SystemPrompt: b.SystemPrompt, UserPrompt: b.UserPrompt, PromptType: b.PromptType, PromptTemplate: b.PromptTemplate,
		DatastoreIds: b.DatastoreIds, Tools: b.Tools, AllowedOrigins: b.AllowedOrigins, RestrictKnowledge: b.RestrictKnowledge,
		QueryPlanning: b.QueryPlanning, UnsupportedSentences: b.UnsupportedSentences,
	}, extra)
	agent := domain.Agent{
		ID: idempotency.ID(ctx, s.NewID, "agent"), WorkspaceID: caller.Workspace(), ModelName: domain.DefaultModelName, Visibility: domain.Private,
	}
	patch.Apply(&agent)
	agent, err := idempotency.CreateOnce(ctx,
		func() (domain.Agent, error) { return s.Agents.Agent(ctx, agent.WorkspaceID, agent.ID) },
		func() (domain.Agent, error) {
			if err := s.checkDatastores(ctx, caller.Workspace(), r.Body.DatastoreIds, r.Body.Tools); err != nil {
				return domain.Agent{}, err
			}
			return s.Agents.CreateAgent(ctx, agent)
		})
	return writeAgent(http.StatusCreated, agent), err
}

// GetAgent implements StrictServerInterface.
func (s *server) GetAgent(ctx context.Context, r GetAgentRequestObject) (GetAgentResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("agent", r.Id); err != nil {
		return nil, err
	}
	agent, err := s.Agents.Agent(ctx, caller.Workspace(), r.Id)
	return writeAgent(http.StatusOK, agent), err
}

// UpdateAgent implements StrictServerInterface.
func (s *server) UpdateAgent(ctx context.Context, r UpdateAgentRequestObject) (UpdateAgentResponseObject, error) {
	extra := s.agentExtra(ctx)
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("agent", r.Id); err != nil {
		return nil, err
	}
	agent, err := s.Agents.Agent(ctx, caller.Workspace(), r.Id)
	if err != nil {
		return nil, err
	}
	patch := agentPatch(*r.Body, extra)
	if patch == (domain.AgentPatch{}) {
		return writeAgent(http.StatusOK, agent), nil
	}
	if err := s.checkDatastores(ctx, caller.Workspace(), r.Body.DatastoreIds, r.Body.Tools); err != nil {
		return nil, err
	}
	agent, err = s.Agents.UpdateAgent(ctx, caller.Workspace(), r.Id, patch)
	return writeAgent(http.StatusOK, agent), err
}

// DeleteAgent implements StrictServerInterface.
func (s *server) DeleteAgent(ctx context.Context, r DeleteAgentRequestObject) (DeleteAgentResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	if err := checkID("agent", r.Id); err != nil {
		return nil, err
	}
	agent, err := s.Agents.DeleteAgent(ctx, caller.Workspace(), r.Id)
	return writeAgent(http.StatusOK, agent), err
}

func agentPatch(b AgentPatch, extra domain.AgentExtra) domain.AgentPatch {
	p := domain.AgentPatch{
		Name: trimmed(b.Name), Description: b.Description, Temperature: b.Temperature,
		ModelName: convert[string](b.ModelName), Visibility: convert[domain.Visibility](b.Visibility),
		SystemPrompt: b.SystemPrompt, UserPrompt: b.UserPrompt,
		PromptType: convert[domain.PromptType](b.PromptType), PromptTemplate: b.PromptTemplate,
	}
	if ids, _ := datastoreIDs(b.DatastoreIds, b.Tools); ids != nil {
		p.DatastoreIDs = &ids
	}
	if b.AllowedOrigins != nil {
		p.AllowedOrigins = new(originsOf(*b.AllowedOrigins))
	}
	settings := domain.AgentExtra{}
	if b.RestrictKnowledge != nil {
		settings[domain.RestrictKnowledge] = json.RawMessage(strconv.FormatBool(*b.RestrictKnowledge))
	}
	if b.QueryPlanning != nil {
		settings[domain.QueryPlanning] = json.RawMessage(strconv.FormatBool(*b.QueryPlanning))
	}
	if b.UnsupportedSentences != nil {
		settings[domain.UnsupportedSentences] = json.RawMessage(strconv.Quote(string(*b.UnsupportedSentences)))
	}
	if len(settings) > 0 {
		maps.Copy(settings, extra)
		extra = settings
	}
	if len(extra) > 0 {
		p.Extra = &extra
	}
	return p
}

// datastoreIDs returns the distinct datastore ids in an agent's body, which lists them as `ids` or in `tools`. It
// returns nil if both are nil. `field` is a format string for error messages; given an index, it yields the path of
// that id in the body.
func datastoreIDs(ids *[]string, tools *[]AgentTool) (list []string, field string) {
	given := []string{}
	switch {
	case ids != nil:
		given, field = *ids, "datastoreIds[%d]"
	case tools != nil:
		field = "tools[%d].datastoreId"
		for _, tool := range *tools {
			given = append(given, tool.DatastoreId)
		}
	default:
		return nil, ""
	}
	list = []string{}
	seen := map[string]bool{}
	for _, id := range given {
		if !seen[id] {
			list = append(list, id)
			seen[id] = true
		}
	}
	return list, field
}

// originsOf returns the origins in their stored form, without duplicates. The rules package has already checked that
// they are valid.
func originsOf(list []string) []string {
	out := []string{}
	for _, text := range list {
		if origin, err := domain.ParseOrigin(text); err == nil && !slices.Contains(out, origin) {
			out = append(out, origin)
		}
	}
	return out
}

// checkDatastores returns an error listing all datastores in the request that do not exist in the workspace, or nil.
func (s *server) checkDatastores(ctx context.Context, ws string, ids *[]string, tools *[]AgentTool) error {
	list, field := datastoreIDs(ids, tools)
	var faults []domain.FieldError
	for i, id := range list {
		err := checkID("datastore", id)
		if err == nil {
			_, err = s.Datastores.Datastore(ctx, ws, id)
		}
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
		if err != nil {
			faults = append(faults, domain.FieldError{Field: fmt.Sprintf(field, i), Message: fmt.Sprintf("is %q, which is not a datastore in this workspace", jsonbody.Shorten(id))})
		}
	}
	return problem.Invalid(faults)
}

// checkID returns domain.CodeNotFound if the id is not in the format of resource ids. Handlers call it before using an
// id.
func checkID(kind, id string) error {
	if !domain.ValidID(id) {
		return domain.NotFound(kind, jsonbody.Shorten(id))
	}
	return nil
}

func pageOf(limit *int, cursor *string) catalog.Page {
	return catalog.Page{Limit: orZero(limit), Cursor: orZero(cursor)}
}

// convert converts a pointer from one string type to another.
func convert[To, From ~string](v *From) *To {
	if v == nil {
		return nil
	}
	to := To(*v)
	return &to
}

func trimmed(v *string) *string {
	if v == nil {
		return nil
	}
	t := strings.TrimSpace(*v)
	return &t
}

// agentExtra returns an agent request's extra fields, meaning those the API document doesn't define. Response-only
// fields don't count, because clients that send back an agent they have read include them.
func (s *server) agentExtra(ctx context.Context) domain.AgentExtra {
	c, _ := ctx.(*gin.Context)
	if c == nil {
		return nil
	}
	body, _ := c.Request.Body.(*transfer.Checked)
	if body == nil {
		return nil
	}
	var all domain.AgentExtra
	if json.Unmarshal(bytes.TrimPrefix(body.Raw, []byte("\ufeff")), &all) != nil { // cannot happen, because the body is validated
		return nil
	}
	for name := range all {
		if s.document.DefinesAgentField(name) {
			delete(all, name)
		}
	}
	return all
}

// writeAgent writes an agent without using the generated response types, because those don't encode the extra fields.
func writeAgent(status int, agent domain.Agent) responseFunc {
	return func(w http.ResponseWriter) error {
		encoded, err := json.Marshal(renderAgent(agent))
		if err != nil {
			return fmt.Errorf("encoding an agent: %w", err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, err = w.Write(append(encoded, '\n'))
		return err
	}
}
