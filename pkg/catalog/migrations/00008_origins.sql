-- Agents say on which web sites they may be asked.

-- +goose Up

-- A JSON array of origins, '' for none.
ALTER TABLE agents ADD COLUMN allowed_origins TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE agents DROP COLUMN allowed_origins;
