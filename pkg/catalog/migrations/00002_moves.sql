-- Datastores move from place to place, and what is in the index is known by its fingerprint.

-- +goose Up

-- since is the generation above which rows in the serving place count. A datastore with move_id '' stays where it is.
ALTER TABLE datastores ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datastores ADD COLUMN move_id TEXT NOT NULL DEFAULT '';
ALTER TABLE datastores ADD COLUMN move_engine TEXT NOT NULL DEFAULT '';
ALTER TABLE datastores ADD COLUMN move_model TEXT NOT NULL DEFAULT '';
ALTER TABLE datastores ADD COLUMN move_since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datastores ADD COLUMN move_started_at BIGINT NOT NULL DEFAULT 0;

-- target_generation is 0 while nothing is in the place that the datastore moves to. move_id is the move for which a job
-- was last issued, replay_id the replay that last queued the datasource.
ALTER TABLE datasources ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN target_generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN target_chunks BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN target_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN target_fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN move_id TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN resume TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN replay_id TEXT NOT NULL DEFAULT '';
-- What readers see of a datastore, and how much of it a move has taken along.
CREATE INDEX datasources_content ON datasources (datastore_id, target_generation, move_id, id) WHERE active_generation > 0;
CREATE INDEX datasources_replay ON datasources (replay_id, status) WHERE replay_id <> '';
CREATE INDEX datastores_moving ON datastores (id) WHERE move_id <> '';

-- engine and model are '' in a sweep of every place.
ALTER TABLE sweeps ADD COLUMN engine TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN from_generation BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE sweeps DROP COLUMN from_generation;
ALTER TABLE sweeps DROP COLUMN model;
ALTER TABLE sweeps DROP COLUMN engine;
DROP INDEX datastores_moving;
DROP INDEX datasources_replay;
DROP INDEX datasources_content;
ALTER TABLE datasources DROP COLUMN replay_id;
ALTER TABLE datasources DROP COLUMN resume;
ALTER TABLE datasources DROP COLUMN move_id;
ALTER TABLE datasources DROP COLUMN target_fingerprint;
ALTER TABLE datasources DROP COLUMN target_bytes;
ALTER TABLE datasources DROP COLUMN target_chunks;
ALTER TABLE datasources DROP COLUMN target_generation;
ALTER TABLE datasources DROP COLUMN fingerprint;
ALTER TABLE datasources DROP COLUMN fence;
ALTER TABLE datastores DROP COLUMN move_started_at;
ALTER TABLE datastores DROP COLUMN move_since;
ALTER TABLE datastores DROP COLUMN move_model;
ALTER TABLE datastores DROP COLUMN move_engine;
ALTER TABLE datastores DROP COLUMN move_id;
ALTER TABLE datastores DROP COLUMN since;
