-- A turn to answer needs no conversation: one that is begun is stored with what was first said in it, or not at all.

-- +goose Up

-- The columns turn_holder and turn_until of conversations are not used any more. They stay for processes of the version
-- before, which run until they are replaced.
CREATE TABLE conversation_turns (
    conversation_id TEXT PRIMARY KEY,
    holder          TEXT NOT NULL,
    held_until      BIGINT NOT NULL
);
CREATE INDEX conversation_turns_until ON conversation_turns (held_until);

-- Conversations whose first question failed.
DELETE FROM conversations WHERE turn_until = 0 AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.conversation_id = conversations.id);

-- +goose Down
DROP TABLE conversation_turns;
