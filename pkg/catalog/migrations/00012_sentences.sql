-- sentences contains the sentences of an answer with their support, as JSON. It is '' for questions, and for answers that older
-- versions stored.

-- +goose Up
ALTER TABLE messages ADD COLUMN sentences TEXT NOT NULL DEFAULT '';
