-- Datastores say how large their chunks are.

-- +goose Up

-- 0 takes the program's default.
ALTER TABLE datastores ADD COLUMN chunk_target BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datastores ADD COLUMN chunk_max BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE datastores DROP COLUMN chunk_max;
ALTER TABLE datastores DROP COLUMN chunk_target;
