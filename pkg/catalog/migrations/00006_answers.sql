-- Conversations are searched, take one question at a time, and are forgotten; use is counted by key, and limited.

-- +goose Up

-- turn_holder is who answers a question of the conversation until turn_until, '' for nobody.
ALTER TABLE conversations ADD COLUMN turn_holder TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN turn_until BIGINT NOT NULL DEFAULT 0;
CREATE INDEX conversations_visitor ON conversations (workspace_id, visitor_id, created_at, id);
CREATE INDEX conversations_updated ON conversations (updated_at, id);

-- search_text is the text in lower case.
ALTER TABLE messages ADD COLUMN search_text TEXT NOT NULL DEFAULT '';
UPDATE messages SET search_text = LOWER(text);

-- What usage_counts holds of a workspace, by key; key_id is '' for what was used without one.
CREATE TABLE key_usage (
    workspace_id TEXT NOT NULL,
    month        TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    metric       TEXT NOT NULL,
    value        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, month, key_id, metric)
);

-- Limits set through the API; key_id is '' for those of the workspace. They go with it, and those of a key with the key.
CREATE TABLE limits (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key_id       TEXT NOT NULL,
    metric       TEXT NOT NULL,
    value        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, key_id, metric)
);

-- original_bytes is the size of the original, 0 where there is none; what was stored before counts with its text until it
-- is stored anew.
ALTER TABLE datasources ADD COLUMN original_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE datasources SET original_bytes = text_bytes;
CREATE INDEX datasources_stored ON datasources (workspace_id, chunks, original_bytes);

-- +goose Down
DROP INDEX datasources_stored;
ALTER TABLE datasources DROP COLUMN original_bytes;
DROP TABLE limits;
DROP TABLE key_usage;
ALTER TABLE messages DROP COLUMN search_text;
DROP INDEX conversations_updated;
DROP INDEX conversations_visitor;
ALTER TABLE conversations DROP COLUMN turn_until;
ALTER TABLE conversations DROP COLUMN turn_holder;
