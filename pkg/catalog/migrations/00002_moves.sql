-- Datastores move from place to place, and what is in the index is known by its fingerprint.

-- +goose Up

-- since is the generation above which rows in the serving place count. A datastore with move_id '' stays where it is. One
-- with deleted_at > 0 is gone for everybody; its datasources are removed a part at a time, and then its row.
ALTER TABLE datastores ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datastores ADD COLUMN move_id TEXT NOT NULL DEFAULT '';
ALTER TABLE datastores ADD COLUMN move_engine TEXT NOT NULL DEFAULT '';
ALTER TABLE datastores ADD COLUMN move_model TEXT NOT NULL DEFAULT '';
ALTER TABLE datastores ADD COLUMN move_since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datastores ADD COLUMN move_started_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datastores ADD COLUMN deleted_at BIGINT NOT NULL DEFAULT 0;

-- target_generation is 0 while nothing is in the place that the datastore moves to. move_id is the move for which a job
-- was last issued, replay_id the replay that last queued the datasource. resume_status is '' when there is nothing to go
-- back to. seen_generation is the highest generation of a job of it that is known to be in the job stream.
ALTER TABLE datasources ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN target_generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN target_chunks BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN target_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN target_fingerprint TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN move_id TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN resume_status TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN resume_error TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN seen_generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN replay_id TEXT NOT NULL DEFAULT '';
-- What readers see of a datastore, and how much of it a move has taken along.
CREATE INDEX datasources_content ON datasources (datastore_id, target_generation, move_id, id) WHERE active_generation > 0;
CREATE INDEX datasources_replay ON datasources (replay_id, status) WHERE replay_id <> '';
CREATE INDEX datastores_moving ON datastores (id) WHERE move_id <> '';
CREATE INDEX datastores_deleted ON datastores (id) WHERE deleted_at > 0;

-- engine and model are '' in a sweep of every place.
ALTER TABLE sweeps ADD COLUMN engine TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN from_generation BIGINT NOT NULL DEFAULT 0;
CREATE INDEX sweeps_datastore ON sweeps (datastore_id, datasource_id);

ALTER TABLE outbox ADD COLUMN datastore_id TEXT NOT NULL DEFAULT '';
UPDATE outbox SET datastore_id = (SELECT d.datastore_id FROM datasources d WHERE d.id = outbox.datasource_id);

CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until  BIGINT NOT NULL
);

-- beat_at is when the holder last told that it works on the repair, 0 while nobody does.
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

-- +goose Down
DROP TABLE repair_notes;
DROP TABLE repairs;
DROP TABLE leases;
ALTER TABLE outbox DROP COLUMN datastore_id;
DROP INDEX sweeps_datastore;
ALTER TABLE sweeps DROP COLUMN from_generation;
ALTER TABLE sweeps DROP COLUMN model;
ALTER TABLE sweeps DROP COLUMN engine;
DROP INDEX datastores_deleted;
DROP INDEX datastores_moving;
DROP INDEX datasources_replay;
DROP INDEX datasources_content;
ALTER TABLE datasources DROP COLUMN replay_id;
ALTER TABLE datasources DROP COLUMN seen_generation;
ALTER TABLE datasources DROP COLUMN resume_error;
ALTER TABLE datasources DROP COLUMN resume_status;
ALTER TABLE datasources DROP COLUMN move_id;
ALTER TABLE datasources DROP COLUMN target_fingerprint;
ALTER TABLE datasources DROP COLUMN target_bytes;
ALTER TABLE datasources DROP COLUMN target_chunks;
ALTER TABLE datasources DROP COLUMN target_generation;
ALTER TABLE datasources DROP COLUMN fingerprint;
ALTER TABLE datasources DROP COLUMN fence;
ALTER TABLE datastores DROP COLUMN deleted_at;
ALTER TABLE datastores DROP COLUMN move_started_at;
ALTER TABLE datastores DROP COLUMN move_since;
ALTER TABLE datastores DROP COLUMN move_model;
ALTER TABLE datastores DROP COLUMN move_engine;
ALTER TABLE datastores DROP COLUMN move_id;
ALTER TABLE datastores DROP COLUMN since;
