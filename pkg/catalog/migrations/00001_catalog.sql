-- One schema for SQLite and PostgreSQL: only types and clauses that mean the same in both.
-- Times are microseconds since 1970 (UTC), flags are 0 or 1, structures are JSON.

-- +goose Up
CREATE TABLE marks (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
-- The highest generation ever seen, of deleted datasources too: a new job stream starts above it.
INSERT INTO marks (name, value) VALUES ('generation', 0);

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE,
    hint         TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    agent_id     TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    expires_at   BIGINT
);
CREATE INDEX api_keys_list ON api_keys (workspace_id, created_at, id);

CREATE TABLE datastores (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    description     TEXT NOT NULL,
    type            TEXT NOT NULL,
    visibility      TEXT NOT NULL,
    embedding_model TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE INDEX datastores_list ON datastores (workspace_id, created_at, id);

CREATE TABLE agents (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    description     TEXT NOT NULL,
    model_name      TEXT NOT NULL,
    temperature     DOUBLE PRECISION NOT NULL,
    visibility      TEXT NOT NULL,
    system_prompt   TEXT NOT NULL,
    user_prompt     TEXT NOT NULL,
    prompt_type     TEXT NOT NULL,
    prompt_template TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE INDEX agents_list ON agents (workspace_id, created_at, id);

CREATE TABLE agent_datastores (
    agent_id     TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    datastore_id TEXT NOT NULL REFERENCES datastores (id) ON DELETE CASCADE,
    position     BIGINT NOT NULL,
    PRIMARY KEY (agent_id, datastore_id)
);
CREATE INDEX agent_datastores_datastore ON agent_datastores (datastore_id);

-- place says where the datasource's newest job is: 0 nowhere, 1 in the outbox, 2 in the job stream.
-- run_id is, of a site, the job that began its newest crawl, and of a page the run that last asked for it.
-- capped says of a site that pages were left out because of its limit.
CREATE TABLE datasources (
    id                TEXT PRIMARY KEY,
    workspace_id      TEXT NOT NULL,
    datastore_id      TEXT NOT NULL REFERENCES datastores (id) ON DELETE CASCADE,
    group_id          TEXT NOT NULL,
    type              TEXT NOT NULL,
    name              TEXT NOT NULL,
    custom_id         TEXT NOT NULL,
    metadata          TEXT NOT NULL,
    config            TEXT NOT NULL,
    original          TEXT NOT NULL,
    original_key      TEXT NOT NULL,
    search_text       TEXT NOT NULL,
    status            TEXT NOT NULL,
    progress          TEXT NOT NULL,
    error             TEXT NOT NULL,
    warnings          TEXT NOT NULL,
    discovery_done    SMALLINT NOT NULL,
    follow_links      SMALLINT NOT NULL,
    capped            SMALLINT NOT NULL,
    job_id            TEXT NOT NULL,
    job_kind          TEXT NOT NULL,
    run_id            TEXT NOT NULL,
    place             SMALLINT NOT NULL,
    runs              BIGINT NOT NULL,
    active_generation BIGINT NOT NULL,
    chunks            BIGINT NOT NULL,
    text_bytes        BIGINT NOT NULL,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    touched_at        BIGINT NOT NULL,
    last_synch        BIGINT
);
CREATE INDEX datasources_workspace ON datasources (workspace_id, created_at, id);
CREATE INDEX datasources_datastore ON datasources (datastore_id, created_at, id);
CREATE INDEX datasources_status ON datasources (datastore_id, status, created_at, id);
CREATE INDEX datasources_group ON datasources (group_id, created_at, id) WHERE group_id <> '';
CREATE INDEX datasources_group_status ON datasources (group_id, status) WHERE group_id <> '';
CREATE INDEX datasources_custom ON datasources (datastore_id, custom_id, created_at, id) WHERE custom_id <> '';
-- Small whatever the number of datasources: what was published and has not ended, and sites waiting for pages.
CREATE INDEX datasources_unsettled ON datasources (place, touched_at)
    WHERE place <> 1 AND status IN ('unsynched', 'pending', 'running');

-- not_before is 0 for a job that may go at once, so that no clock decides about it.
CREATE TABLE outbox (
    datasource_id TEXT PRIMARY KEY REFERENCES datasources (id) ON DELETE CASCADE,
    workspace_id  TEXT NOT NULL,
    job_id        TEXT NOT NULL,
    priority      SMALLINT NOT NULL,
    not_before    BIGINT NOT NULL,
    seq           BIGINT NOT NULL,
    payload       TEXT NOT NULL
);
CREATE INDEX outbox_turn ON outbox (priority, workspace_id, not_before, seq);

-- below is -1 for every generation; originals are keys, one a line.
CREATE TABLE sweeps (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL,
    datastore_id  TEXT NOT NULL,
    datasource_id TEXT NOT NULL,
    below         BIGINT NOT NULL,
    originals     TEXT NOT NULL,
    jobs          SMALLINT NOT NULL,
    attempts      BIGINT NOT NULL,
    cause         TEXT NOT NULL,
    due_at        BIGINT NOT NULL
);
CREATE INDEX sweeps_due ON sweeps (due_at, id);

CREATE TABLE conversations (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    agent_id     TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    visitor_id   TEXT NOT NULL,
    title        TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX conversations_workspace ON conversations (workspace_id, created_at, id);
CREATE INDEX conversations_agent ON conversations (agent_id, created_at, id);

CREATE TABLE messages (
    id              TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    role            TEXT NOT NULL,
    text            TEXT NOT NULL,
    sources         TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    seq             BIGINT NOT NULL
);
CREATE INDEX messages_turn ON messages (conversation_id, seq);

CREATE TABLE usage_counts (
    workspace_id TEXT NOT NULL,
    month        TEXT NOT NULL,
    metric       TEXT NOT NULL,
    value        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, month, metric)
);

-- status is 0 while the request is being worked on.
CREATE TABLE idempotency_keys (
    workspace_id TEXT NOT NULL,
    key          TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    status       BIGINT NOT NULL,
    body         TEXT NOT NULL,
    begun_at     BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE usage_counts;
DROP TABLE messages;
DROP TABLE conversations;
DROP TABLE sweeps;
DROP TABLE outbox;
DROP TABLE datasources;
DROP TABLE agent_datastores;
DROP TABLE agents;
DROP TABLE datastores;
DROP TABLE api_keys;
DROP TABLE workspaces;
DROP TABLE marks;
