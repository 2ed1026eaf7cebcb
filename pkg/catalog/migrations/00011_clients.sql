-- Conversations have ids that callers choose, and agents keep fields of other services.

-- +goose Up

-- The id that the caller has chosen, '' for a conversation that is known by its own.
ALTER TABLE conversations ADD COLUMN caller_id TEXT NOT NULL DEFAULT '';
CREATE INDEX conversations_caller ON conversations (workspace_id, caller_id) WHERE caller_id <> '';

-- A JSON object, '' for none.
ALTER TABLE agents ADD COLUMN extra TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE agents DROP COLUMN extra;
DROP INDEX conversations_caller;
ALTER TABLE conversations DROP COLUMN caller_id;
