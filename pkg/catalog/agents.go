package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/cursor"
	"github.com/sluice/sluice/pkg/domain"
)

const agentColumns = `id, workspace_id, name, description, model_name, temperature, visibility, system_prompt, user_prompt,
	prompt_type, prompt_template, allowed_origins, extra, created_at, updated_at`

const ownAgent = `workspace_id = ? AND id = ?`

func scanAgent(s scanner) (domain.Agent, error) {
	var a domain.Agent
	var createdAt, updatedAt int64
	var origins, extra string
	err := s.Scan(&a.ID, &a.WorkspaceID, &a.Name, &a.Description, &a.ModelName, &a.Temperature, &a.Visibility, &a.SystemPrompt,
		&a.UserPrompt, &a.PromptType, &a.PromptTemplate, &origins, &extra, &createdAt, &updatedAt)
	if err != nil {
		return a, err
	}
	a.CreatedAt, a.UpdatedAt = fromMicros(createdAt), fromMicros(updatedAt)
	return a, errors.Join(fromJSON(origins, &a.AllowedOrigins), fromJSON(extra, &a.Extra))
}

// originsOf is how an agent's origins are kept.
func originsOf(a domain.Agent) (string, error) {
	if len(a.AllowedOrigins) == 0 {
		return "", nil
	}
	return toJSON(a.AllowedOrigins)
}

// extraOf encodes an agent's extra fields for storage. It fails with domain.CodeInvalid when they are too large.
func extraOf(a domain.Agent) (string, error) {
	if len(a.Extra) == 0 {
		return "", nil
	}
	if err := a.Extra.Check(); err != nil {
		return "", err
	}
	return toJSON(a.Extra)
}

// CreateAgent stores an agent; both times are set here. It fails with domain.CodeInvalid, naming datastoreIds[i], when
// the workspace has no such datastore, and with domain.CodeConflict when the id is taken.
func (c *Catalog) CreateAgent(ctx context.Context, a domain.Agent) (domain.Agent, error) {
	at := c.stamp()
	a.CreatedAt, a.UpdatedAt = fromMicros(at), fromMicros(at)
	origins, err := originsOf(a)
	if err != nil {
		return domain.Agent{}, err
	}
	extra, err := extraOf(a)
	if err != nil {
		return domain.Agent{}, err
	}
	err = c.update(ctx, "storing an agent", func(t *tx) error {
		if err := requireWorkspace(ctx, t, a.WorkspaceID); err != nil {
			return err
		}
		n, err := t.exec(ctx, `INSERT INTO agents (`+agentColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`,
			a.ID, a.WorkspaceID, a.Name, a.Description, a.ModelName, a.Temperature, a.Visibility, a.SystemPrompt,
			a.UserPrompt, a.PromptType, a.PromptTemplate, origins, extra, at, at)
		if err := created(n, err, "agent", a.ID); err != nil {
			return err
		}
		return linkDatastores(ctx, t, a)
	})
	return a, err
}

// Agent returns one agent of the workspace.
func (c *Catalog) Agent(ctx context.Context, ws, id string) (domain.Agent, error) {
	return readAgent(ctx, c.db.read, id, ownAgent, ws, id)
}

// PublicAgent returns an agent of any workspace if it is public; a private one is not found.
func (c *Catalog) PublicAgent(ctx context.Context, id string) (domain.Agent, error) {
	return readAgent(ctx, c.db.read, id, `visibility = 'public' AND id = ?`, id)
}

// Agents returns a page of the workspace's agents, newest first, and the cursor of the next page, "" after the last.
func (c *Catalog) Agents(ctx context.Context, ws string, p Page) ([]domain.Agent, string, error) {
	l := list{name: cursor.Agents, columns: agentColumns, table: `agents`}
	l.and(`workspace_id = ?`, ws)
	text, args, limit, err := l.page(p)
	if err != nil {
		return nil, "", err
	}
	agents, err := collect(ctx, c.db.read, scanAgent, text, args...)
	if err != nil {
		return nil, "", fmt.Errorf("listing agents: %w", err)
	}
	agents, next := cut(l, agents, limit, func(a domain.Agent) cursor.Position { return cursor.Position{At: micros(a.CreatedAt), ID: a.ID} })
	return agents, next, readLinks(ctx, c.db.read, agents)
}

// UpdateAgent changes what the patch carries and returns the agent as it is then. It fails like CreateAgent.
func (c *Catalog) UpdateAgent(ctx context.Context, ws, id string, p domain.AgentPatch) (domain.Agent, error) {
	var a domain.Agent
	err := c.update(ctx, "changing an agent", func(t *tx) (err error) {
		if a, err = readAgent(ctx, t, id, ownAgent+t.lock, ws, id); err != nil {
			return err
		}
		p.Apply(&a)
		a.UpdatedAt = fromMicros(c.stamp())
		origins, err := originsOf(a)
		if err != nil {
			return err
		}
		extra, err := extraOf(a)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE agents SET name = ?, description = ?, model_name = ?, temperature = ?, visibility = ?,
			system_prompt = ?, user_prompt = ?, prompt_type = ?, prompt_template = ?, allowed_origins = ?, extra = ?, updated_at = ? WHERE id = ?`,
			a.Name, a.Description, a.ModelName, a.Temperature, a.Visibility,
			a.SystemPrompt, a.UserPrompt, a.PromptType, a.PromptTemplate, origins, extra, micros(a.UpdatedAt), id); err != nil {
			return err
		}
		if p.DatastoreIDs == nil {
			return nil
		}
		if _, err := t.exec(ctx, `DELETE FROM agent_datastores WHERE agent_id = ?`, id); err != nil {
			return err
		}
		return linkDatastores(ctx, t, a)
	})
	return a, err
}

// DeleteAgent deletes the agent with its conversations and returns it. Many conversations go in several transactions, the
// agent in the last.
func (c *Catalog) DeleteAgent(ctx context.Context, ws, id string) (domain.Agent, error) {
	for more := true; more; {
		err := c.update(ctx, "deleting an agent's conversations", func(t *tx) error {
			if _, err := readAgent(ctx, t, id, ownAgent, ws, id); err != nil {
				return err
			}
			n, err := t.exec(ctx, `DELETE FROM conversations WHERE id IN (SELECT id FROM conversations WHERE agent_id = ? LIMIT ?)`, id, forgetBatch)
			more = n == forgetBatch
			return err
		})
		if err != nil {
			return domain.Agent{}, err
		}
	}
	var a domain.Agent
	err := c.update(ctx, "deleting an agent", func(t *tx) (err error) {
		if a, err = readAgent(ctx, t, id, ownAgent+t.lock, ws, id); err != nil {
			return err
		}
		_, err = t.exec(ctx, `DELETE FROM agents WHERE id = ?`, id)
		return err
	})
	return a, err
}

func readAgent(ctx context.Context, q querier, id, where string, args ...any) (domain.Agent, error) {
	a, err := scanAgent(q.queryRow(ctx, `SELECT `+agentColumns+` FROM agents WHERE `+where, args...))
	if err != nil {
		return domain.Agent{}, found(err, "agent", id)
	}
	one := []domain.Agent{a}
	err = readLinks(ctx, q, one)
	return one[0], err
}

// linkDatastores stores the agent's datastores in their order; naming one twice is the same as once.
func linkDatastores(ctx context.Context, t *tx, a domain.Agent) error {
	if err := t.share(ctx, a.DatastoreIDs...); err != nil {
		return err
	}
	for i, id := range a.DatastoreIDs {
		n, err := t.exec(ctx, `INSERT INTO agent_datastores (agent_id, datastore_id, position)
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

// readLinks fills DatastoreIDs.
func readLinks(ctx context.Context, q querier, agents []domain.Agent) error {
	ids := make([]string, len(agents))
	at := make(map[string]*domain.Agent, len(agents))
	for i := range agents {
		ids[i], at[agents[i].ID] = agents[i].ID, &agents[i]
		agents[i].DatastoreIDs = []string{}
	}
	return inLists(q.engine(), ids, func(in string, args []any) error {
		type link struct{ agent, datastore string }
		links, err := collect(ctx, q, func(s scanner) (l link, err error) {
			err = s.Scan(&l.agent, &l.datastore)
			return l, err
		}, `SELECT agent_id, datastore_id FROM agent_datastores WHERE agent_id `+in+` ORDER BY agent_id, position`, args...)
		if err != nil {
			return fmt.Errorf("reading agents' datastores: %w", err)
		}
		for _, l := range links {
			at[l.agent].DatastoreIDs = append(at[l.agent].DatastoreIDs, l.datastore)
		}
		return nil
	})
}
