-- sentences are those of an answer with their support, as JSON; '' for questions and for answers of older versions.

-- +goose Up
ALTER TABLE messages ADD COLUMN sentences TEXT NOT NULL DEFAULT '';
