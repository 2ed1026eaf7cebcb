-- Responses and conversations of OpenAI's API.

-- +goose Up

-- input, body and trace are JSON. holder is the process that answers the response in the background until held_until; both
-- are empty for a response that was stored when it had ended.
CREATE TABLE responses (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key_id       TEXT NOT NULL,
    status       TEXT NOT NULL,
    background   SMALLINT NOT NULL,
    holder       TEXT NOT NULL,
    held_until   BIGINT NOT NULL,
    input        TEXT NOT NULL,
    body         TEXT NOT NULL,
    trace        TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX responses_workspace ON responses (workspace_id, created_at, id);
CREATE INDEX responses_created ON responses (created_at, id);
CREATE INDEX responses_held ON responses (held_until) WHERE status IN ('queued', 'in_progress');

-- metadata is a JSON object, '' if it is empty.
CREATE TABLE item_conversations (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key_id       TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX item_conversations_workspace ON item_conversations (workspace_id, created_at, id);
CREATE INDEX item_conversations_updated ON item_conversations (updated_at, id);

-- item is JSON. seq orders the items of a conversation.
CREATE TABLE conversation_items (
    conversation_id TEXT NOT NULL REFERENCES item_conversations (id) ON DELETE CASCADE,
    id              TEXT NOT NULL,
    seq             BIGINT NOT NULL,
    item            TEXT NOT NULL,
    PRIMARY KEY (conversation_id, id)
);
CREATE INDEX conversation_items_order ON conversation_items (conversation_id, seq);
