package resources

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

func agentRow(a *domain.Agent) db.Row {
	return db.Row{
		db.Fixed("id", &a.ID),
		db.Fixed("workspace_id", &a.WorkspaceID),
		db.Col("name", &a.Name),
		db.Col("description", &a.Description),
		db.Col("model_name", &a.ModelName),
		db.Col("temperature", &a.Temperature),
		db.Col("visibility", &a.Visibility),
		db.Col("system_prompt", &a.SystemPrompt),
		db.Col("user_prompt", &a.UserPrompt),
		db.Col("prompt_type", &a.PromptType),
		db.Col("prompt_template", &a.PromptTemplate),
		db.Col("allowed_origins", &a.AllowedOrigins),
		db.Col("extra", &a.Extra),
		db.Fixed("created_at", &a.CreatedAt),
		db.Col("updated_at", &a.UpdatedAt),
	}
}

var (
	agentColumns    = agentRow(new(domain.Agent)).Columns("")
	insertAgentText = agentRow(new(domain.Agent)).InsertText("agents")
	updateAgentText = agentRow(new(domain.Agent)).UpdateText("agents")
)

// Number of conversations deleted per transaction when an agent is deleted.
const conversationBatch = 100

const ownAgent = `workspace_id = ? AND id = ?`

var scanAgent = db.ScanRow(agentRow)

// CreateAgent stores an agent and sets its CreatedAt and UpdatedAt. It fails with domain.CodeConflict if the id already
// exists, and with domain.CodeInvalid for the datastoreIds[i] field if the workspace doesn't have that datastore.
func (c *Resources) CreateAgent(ctx context.Context, a domain.Agent) (domain.Agent, error) {
	at := c.db.Stamp()
	a.CreatedAt, a.UpdatedAt = db.FromMicros(at), db.FromMicros(at)
	if err := a.Extra.Check(); err != nil {
		return domain.Agent{}, err
	}
	err := c.db.Update(ctx, "storing an agent", func(t *db.Tx) error {
		if err := accounts.RequireWorkspace(ctx, t, a.WorkspaceID); err != nil {
			return err
		}
		n, err := t.Insert(ctx, insertAgentText, agentRow(&a))
		if err := db.MapConflict(n, err, "agent", a.ID); err != nil {
			return err
		}
		return linkDatastores(ctx, t, a)
	})
	return a, err
}

// Agent returns one of the workspace's agents.
func (c *Resources) Agent(ctx context.Context, ws, id string) (domain.Agent, error) {
	return readAgent(ctx, c.db.Read, id, ownAgent, ws, id)
}

// PublicAgent returns a public agent in any workspace. It fails with domain.NotFound if the agent is private.
func (c *Resources) PublicAgent(ctx context.Context, id string) (domain.Agent, error) {
	return readAgent(ctx, c.db.Read, id, `visibility = 'public' AND id = ?`, id)
}

// Agents returns a page of the workspace's agents, newest first, and the next page's cursor, or "" after the last page.
func (c *Resources) Agents(ctx context.Context, ws string, p db.Page) ([]domain.Agent, string, error) {
	l := db.List{Name: cursor.Agents, Columns: agentColumns, Table: `agents`}
	l.And(`workspace_id = ?`, ws)
	text, args, limit, err := l.Page(p)
	if err != nil {
		return nil, "", err
	}
	agents, err := db.Collect(ctx, c.db.Read, scanAgent, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing agents: %w", err)
	}
	agents, next := db.CutPage(l, agents, limit, func(a domain.Agent) cursor.Position { return cursor.Position{At: db.Micros(a.CreatedAt), ID: a.ID} })
	return agents, next, readLinks(ctx, c.db.Read, agents)
}

// UpdateAgent applies the patch and returns the updated agent. Like CreateAgent, it rejects unknown datastores.
func (c *Resources) UpdateAgent(ctx context.Context, ws, id string, p domain.AgentPatch) (domain.Agent, error) {
	var a domain.Agent
	err := c.db.Update(ctx, "changing an agent", func(t *db.Tx) (err error) {
		if a, err = readAgent(ctx, t, id, ownAgent+t.Lock, ws, id); err != nil {
			return err
		}
		p.Apply(&a)
		a.UpdatedAt = db.FromMicros(c.db.Stamp())
		if err := a.Extra.Check(); err != nil {
			return err
		}
		if err := t.UpdateRow(ctx, updateAgentText, agentRow(&a), id); err != nil {
			return err
		}
		if p.DatastoreIDs == nil {
			return nil
		}
		if _, err := t.Exec(ctx, `DELETE FROM agent_datastores WHERE agent_id = ?`, id); err != nil {
			return err
		}
		return linkDatastores(ctx, t, a)
	})
	return a, err
}

// DeleteAgent deletes the agent with its conversations and returns it. If there are many conversations, this takes
// several transactions; the last one deletes the agent.
func (c *Resources) DeleteAgent(ctx context.Context, ws, id string) (domain.Agent, error) {
	for more := true; more; {
		err := c.db.Update(ctx, "deleting an agent's conversations", func(t *db.Tx) error {
			if _, err := readAgent(ctx, t, id, ownAgent, ws, id); err != nil {
				return err
			}
			n, err := t.Exec(ctx, `DELETE FROM conversations WHERE id IN (SELECT id FROM conversations WHERE agent_id = ? LIMIT ?)`, id, conversationBatch)
			more = n == conversationBatch
			return err
		})
		if err != nil {
			return domain.Agent{}, err
		}
	}
	var a domain.Agent
	err := c.db.Update(ctx, "deleting an agent", func(t *db.Tx) (err error) {
		if a, err = readAgent(ctx, t, id, ownAgent+t.Lock, ws, id); err != nil {
			return err
		}
		_, err = t.Exec(ctx, `DELETE FROM agents WHERE id = ?`, id)
		return err
	})
	return a, err
}

func readAgent(ctx context.Context, q db.Querier, id, where string, args ...any) (domain.Agent, error) {
	a, err := scanAgent(q.QueryRow(ctx, `SELECT `+agentColumns+` FROM agents WHERE `+where, args...))
	if err != nil {
		return domain.Agent{}, db.MapNotFound(err, "agent", id)
	}
	one := []domain.Agent{a}
	err = readLinks(ctx, q, one)
	return one[0], err
}

// linkDatastores stores the agent's datastores in order, without duplicates.
func linkDatastores(ctx context.Context, t *db.Tx, a domain.Agent) error {
	if err := record.ShareDatastores(ctx, t, a.DatastoreIDs...); err != nil {
		return err
	}
	for i, id := range a.DatastoreIDs {
		n, err := t.Exec(ctx, `INSERT INTO agent_datastores (agent_id, datastore_id, position)
			SELECT ?, id, CAST(? AS BIGINT) FROM datastores WHERE id = ? AND workspace_id = ? AND deleted_at = 0
			ON CONFLICT (agent_id, datastore_id) DO UPDATE SET position = agent_datastores.position`,
			a.ID, i, id, a.WorkspaceID)
		if err != nil {
			return fmt.Errorf("linking datastore %s: %w", id, err)
		}
		if n == 0 {
			return domain.Invalid(fmt.Sprintf("datastoreIds[%d]", i), "there is no datastore with id %q", id)
		}
	}
	return nil
}

func readLinks(ctx context.Context, q db.Querier, agents []domain.Agent) error {
	ids := make([]string, len(agents))
	at := make(map[string]*domain.Agent, len(agents))
	for i := range agents {
		ids[i], at[agents[i].ID] = agents[i].ID, &agents[i]
		agents[i].DatastoreIDs = []string{}
	}
	return db.InLists(q, ids, func(in string, args []any) error {
		type link struct{ agent, datastore string }
		links, err := db.Collect(ctx, q, db.Scan(func(l *link) []any { return []any{&l.agent, &l.datastore} }), `SELECT agent_id, datastore_id FROM agent_datastores WHERE agent_id `+in+` ORDER BY agent_id, position`, args...)
		if err != nil {
			return fmt.Errorf("reading agents' datastores: %w", err)
		}
		for _, l := range links {
			at[l.agent].DatastoreIDs = append(at[l.agent].DatastoreIDs, l.datastore)
		}
		return nil
	})
}
