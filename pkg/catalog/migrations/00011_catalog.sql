-- The schema for both SQLite and PostgreSQL. It uses only types and clauses that mean the same in both.
-- Times are microseconds since 1970 (UTC). Flags are 0 or 1. Structures are JSON, or '' if there is none.
--
-- The first version is 11, the version of the last development schema. Earlier versions were never released.

-- +goose Up
CREATE TABLE marks (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
-- The highest generation ever seen, including those of deleted datasources. A new job stream starts above it.
INSERT INTO marks (name, value) VALUES ('generation', 0);

CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until  BIGINT NOT NULL
);

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

-- Limits set through the API. key_id is '' for limits of the workspace. A workspace's or key's limits are deleted with it.
CREATE TABLE limits (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key_id       TEXT NOT NULL,
    metric       TEXT NOT NULL,
    value        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, key_id, metric)
);

CREATE TABLE usage_counts (
    workspace_id TEXT NOT NULL,
    month        TEXT NOT NULL,
    metric       TEXT NOT NULL,
    value        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, month, metric)
);

-- The counts in usage_counts, divided by key. key_id is '' for requests without a key.
CREATE TABLE key_usage (
    workspace_id TEXT NOT NULL,
    month        TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    metric       TEXT NOT NULL,
    value        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, month, key_id, metric)
);

-- status is 0 while the request is being processed.
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

-- chunk_target and chunk_max are 0 for the program's defaults. Rows in the serving place are valid only if their generation is
-- above since. move_id is '' unless the datastore is moving. If deleted_at > 0, nobody sees the datastore any more. First its
-- datasources are removed in batches, and then its row.
CREATE TABLE datastores (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    description     TEXT NOT NULL,
    type            TEXT NOT NULL,
    visibility      TEXT NOT NULL,
    embedding_model TEXT NOT NULL,
    chunk_target    BIGINT NOT NULL,
    chunk_max       BIGINT NOT NULL,
    since           BIGINT NOT NULL,
    move_id         TEXT NOT NULL,
    move_engine     TEXT NOT NULL,
    move_model      TEXT NOT NULL,
    move_since      BIGINT NOT NULL,
    move_started_at BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    deleted_at      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX datastores_list ON datastores (workspace_id, created_at, id);
CREATE INDEX datastores_moving ON datastores (id) WHERE move_id <> '';
CREATE INDEX datastores_deleted ON datastores (id) WHERE deleted_at > 0;

-- allowed_origins is a JSON array, and extra is a JSON object.
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
    allowed_origins TEXT NOT NULL,
    extra           TEXT NOT NULL,
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

-- caller_id is the id that the caller chose, or '' if the caller uses the conversation's own id.
CREATE TABLE conversations (
    id           TEXT PRIMARY KEY,
    caller_id    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    agent_id     TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    visitor_id   TEXT NOT NULL,
    title        TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX conversations_workspace ON conversations (workspace_id, created_at, id);
CREATE INDEX conversations_agent ON conversations (agent_id, created_at, id);
CREATE INDEX conversations_visitor ON conversations (workspace_id, visitor_id, created_at, id);
CREATE INDEX conversations_updated ON conversations (updated_at, id);
CREATE INDEX conversations_caller ON conversations (workspace_id, caller_id) WHERE caller_id <> '';

-- search_text is the text in lower case.
CREATE TABLE messages (
    id              TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    role            TEXT NOT NULL,
    text            TEXT NOT NULL,
    search_text     TEXT NOT NULL,
    sources         TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    seq             BIGINT NOT NULL
);
CREATE INDEX messages_turn ON messages (conversation_id, seq);

-- Locks of conversations: only the holder may answer a question. The conversation need not exist yet, because a new
-- conversation is stored together with its first messages.
CREATE TABLE conversation_turns (
    conversation_id TEXT PRIMARY KEY,
    holder          TEXT NOT NULL,
    held_until      BIGINT NOT NULL
);
CREATE INDEX conversation_turns_until ON conversation_turns (held_until);

-- place says where the datasource's newest job is: 0 nowhere, 1 in the outbox, 2 in the job stream. seen_generation is the
-- highest generation of its jobs that is known to be in the stream. queued_at is the time at which a crawl job was last
-- accepted. inputs belong to the active generation, and target_inputs to the target generation. target_generation is 0 if the
-- place that the datastore is moving to has no rows of the datasource. move_id is the move for which a job was last issued,
-- and replay_id is the replay that last queued the datasource. resume_status is the status before a move job, or ''. refresh
-- is the schedule, or ''. original_bytes is the size of the original, or 0 if there is none.
--
-- For a site: run_id is the job that began its newest crawl, crawl is the state of that crawl, and pages is the number of
-- pages. capped is 1 if pages were left out because of the limit on pages.
--
-- For a page of a site: run_id is the crawl that last requested the page, and content_hash is the hash of its content.
-- duplicate_of is the page in favour of which it was left out. canonical_id is the page that it names as canonical, unless it
-- was left out. lead is the number of consecutive pages, ending with this one, that are read only for their links; it is 0
-- for a searchable page.
CREATE TABLE datasources (
    id                 TEXT PRIMARY KEY,
    workspace_id       TEXT NOT NULL,
    datastore_id       TEXT NOT NULL REFERENCES datastores (id) ON DELETE CASCADE,
    group_id           TEXT NOT NULL,
    type               TEXT NOT NULL,
    name               TEXT NOT NULL,
    custom_id          TEXT NOT NULL,
    metadata           TEXT NOT NULL,
    config             TEXT NOT NULL,
    original           TEXT NOT NULL,
    original_key       TEXT NOT NULL,
    original_bytes     BIGINT NOT NULL,
    search_text        TEXT NOT NULL,
    status             TEXT NOT NULL,
    progress           TEXT NOT NULL,
    error              TEXT NOT NULL,
    warnings           TEXT NOT NULL,
    discovery_done     SMALLINT NOT NULL,
    follow_links       SMALLINT NOT NULL,
    capped             SMALLINT NOT NULL,
    job_id             TEXT NOT NULL,
    job_kind           TEXT NOT NULL,
    run_id             TEXT NOT NULL,
    place              SMALLINT NOT NULL,
    runs               BIGINT NOT NULL,
    active_generation  BIGINT NOT NULL,
    chunks             BIGINT NOT NULL,
    text_bytes         BIGINT NOT NULL,
    fence              BIGINT NOT NULL,
    fingerprint        TEXT NOT NULL,
    inputs             TEXT NOT NULL,
    target_generation  BIGINT NOT NULL,
    target_chunks      BIGINT NOT NULL,
    target_bytes       BIGINT NOT NULL,
    target_fingerprint TEXT NOT NULL,
    target_inputs      TEXT NOT NULL,
    move_id            TEXT NOT NULL,
    resume_status      TEXT NOT NULL,
    resume_error       TEXT NOT NULL,
    seen_generation    BIGINT NOT NULL,
    replay_id          TEXT NOT NULL,
    crawl              TEXT NOT NULL,
    unchanged          SMALLINT NOT NULL,
    content_hash       TEXT NOT NULL,
    duplicate_of       TEXT NOT NULL,
    canonical_id       TEXT NOT NULL,
    lead               SMALLINT NOT NULL,
    refresh            TEXT NOT NULL,
    queued_at          BIGINT NOT NULL,
    pages              BIGINT NOT NULL DEFAULT 0,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL,
    touched_at         BIGINT NOT NULL,
    last_synch         BIGINT
);
CREATE INDEX datasources_workspace ON datasources (workspace_id, created_at, id);
CREATE INDEX datasources_datastore ON datasources (datastore_id, created_at, id);
CREATE INDEX datasources_status ON datasources (datastore_id, status, created_at, id);
CREATE INDEX datasources_group ON datasources (group_id, created_at, id) WHERE group_id <> '';
CREATE INDEX datasources_group_id ON datasources (group_id, id) WHERE group_id <> '';
CREATE INDEX datasources_group_status ON datasources (group_id, status, unchanged) WHERE group_id <> '';
CREATE INDEX datasources_run ON datasources (group_id, run_id, id) WHERE group_id <> '';
CREATE INDEX datasources_lead ON datasources (group_id) WHERE lead > 0;
CREATE INDEX datasources_hash ON datasources (group_id, content_hash) WHERE content_hash <> '';
CREATE INDEX datasources_duplicate ON datasources (duplicate_of, id) WHERE duplicate_of <> '';
CREATE INDEX datasources_canonical ON datasources (canonical_id, id) WHERE canonical_id <> '';
CREATE INDEX datasources_sites ON datasources (datastore_id) WHERE type = 'web_site';
CREATE INDEX datasources_custom ON datasources (datastore_id, custom_id, created_at, id) WHERE custom_id <> '';
CREATE INDEX datasources_stored ON datasources (workspace_id, chunks, original_bytes);
CREATE INDEX datasources_refresh ON datasources (id) WHERE refresh <> '';
CREATE INDEX datasources_replay ON datasources (replay_id, status) WHERE replay_id <> '';
-- Finds the content of a datastore that readers see, and the part of it that a move has copied.
CREATE INDEX datasources_content ON datasources (datastore_id, target_generation, move_id, id) WHERE active_generation > 0;
-- Contains only datasources with unfinished published jobs and sites that wait for pages, so it is always small.
CREATE INDEX datasources_unsettled ON datasources (place, touched_at)
    WHERE place <> 1 AND status IN ('unsynched', 'pending', 'running');

-- Queued work on pages of a site. sites/work.go names the kinds. run_id is the crawl that the work belongs to.
CREATE TABLE site_work (
    site_id  TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    kind     SMALLINT NOT NULL,
    page_id  TEXT NOT NULL,
    run_id   TEXT NOT NULL,
    after_id TEXT NOT NULL,
    PRIMARY KEY (site_id, kind, page_id)
);

-- Pages that were deleted or found gone since the newest crawl of the site began. The crawl does not request them again,
-- even if other pages link to them.
CREATE TABLE left_pages (
    site_id TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    page_id TEXT NOT NULL,
    PRIMARY KEY (site_id, page_id)
);

-- Deleted sites that still have pages. Nobody sees these pages.
CREATE TABLE doomed_sites (
    site_id TEXT NOT NULL PRIMARY KEY
);

-- The links found by the last fetch of a page: addresses in the packed form of sites/links.go, in several parts.
CREATE TABLE page_links (
    page_id TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    part    SMALLINT NOT NULL,
    links   TEXT NOT NULL,
    PRIMARY KEY (page_id, part)
);

-- not_before is 0 for a job that may be published at once, so that a wrong clock cannot delay it.
CREATE TABLE outbox (
    datasource_id TEXT PRIMARY KEY REFERENCES datasources (id) ON DELETE CASCADE,
    workspace_id  TEXT NOT NULL,
    datastore_id  TEXT NOT NULL,
    job_id        TEXT NOT NULL,
    priority      SMALLINT NOT NULL,
    not_before    BIGINT NOT NULL,
    seq           BIGINT NOT NULL,
    payload       TEXT NOT NULL
);
CREATE INDEX outbox_turn ON outbox (priority, workspace_id, not_before, seq);

-- below is -1 for all generations. originals contains keys, one per line. engine and model are '' if the sweep applies to every
-- place.
CREATE TABLE sweeps (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL,
    datastore_id    TEXT NOT NULL,
    datasource_id   TEXT NOT NULL,
    engine          TEXT NOT NULL,
    model           TEXT NOT NULL,
    from_generation BIGINT NOT NULL,
    below           BIGINT NOT NULL,
    originals       TEXT NOT NULL,
    jobs            SMALLINT NOT NULL,
    attempts        BIGINT NOT NULL,
    cause           TEXT NOT NULL,
    due_at          BIGINT NOT NULL
);
CREATE INDEX sweeps_due ON sweeps (due_at, id);
CREATE INDEX sweeps_datastore ON sweeps (datastore_id, datasource_id);

-- beat_at is the time at which the holder last reported that it is working on the repair, or 0 if nobody is.
CREATE TABLE repairs (
    id           TEXT PRIMARY KEY,
    prune        SMALLINT NOT NULL,
    requested_at BIGINT NOT NULL,
    holder       TEXT NOT NULL,
    beat_at      BIGINT NOT NULL,
    finished_at  BIGINT,
    error        TEXT NOT NULL
);
CREATE INDEX repairs_open ON repairs (requested_at, id) WHERE finished_at IS NULL;
CREATE INDEX repairs_finished ON repairs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE repair_notes (
    repair_id TEXT NOT NULL REFERENCES repairs (id) ON DELETE CASCADE,
    seq       BIGINT NOT NULL,
    line      TEXT NOT NULL,
    PRIMARY KEY (repair_id, seq)
);
