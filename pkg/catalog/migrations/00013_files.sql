-- Files, uploads and vector stores of OpenAI's clients.
--
-- A datasource with a file_id was created from that file and shares its original; '' for all others. Shared originals
-- count in files.original_bytes, not in datasources.original_bytes.

-- +goose Up
ALTER TABLE datasources ADD COLUMN file_id TEXT NOT NULL DEFAULT '';
CREATE INDEX datasources_file ON datasources (file_id, id) WHERE file_id <> '';

-- expires_at is 0 for files that never expire. A file with deleted_at > 0 is invisible; its datasources are removed in
-- batches, and then its row.
CREATE TABLE files (
    id             TEXT PRIMARY KEY,
    workspace_id   TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    purpose        TEXT NOT NULL,
    original       TEXT NOT NULL,
    original_key   TEXT NOT NULL,
    original_bytes BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    deleted_at     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX files_list ON files (workspace_id, created_at, id);
CREATE INDEX files_stored ON files (workspace_id, original_bytes);
CREATE INDEX files_expiry ON files (expires_at) WHERE expires_at > 0;
CREATE INDEX files_deleted ON files (id) WHERE deleted_at > 0;

-- keep_for is how long the file is kept, in microseconds; 0 until it is deleted. file_id is '' until it is completed.
CREATE TABLE uploads (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    purpose      TEXT NOT NULL,
    mime_type    TEXT NOT NULL,
    bytes        BIGINT NOT NULL,
    keep_for     BIGINT NOT NULL,
    status       TEXT NOT NULL,
    file_id      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX uploads_expiry ON uploads (expires_at);

CREATE TABLE upload_parts (
    id             TEXT PRIMARY KEY,
    upload_id      TEXT NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    workspace_id   TEXT NOT NULL,
    original       TEXT NOT NULL,
    original_key   TEXT NOT NULL,
    original_bytes BIGINT NOT NULL,
    created_at     BIGINT NOT NULL
);
CREATE INDEX upload_parts_upload ON upload_parts (upload_id, id);
CREATE INDEX upload_parts_stored ON upload_parts (workspace_id, original_bytes);

-- A datastore without a row has no metadata and never expires. expires_at and expired_at are 0 for none. emptying is 1
-- while the content of an expired vector store is being removed.
CREATE TABLE vector_stores (
    datastore_id   TEXT PRIMARY KEY REFERENCES datastores (id) ON DELETE CASCADE,
    metadata       TEXT NOT NULL,
    expires_days   BIGINT NOT NULL,
    last_active_at BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    expired_at     BIGINT NOT NULL DEFAULT 0,
    emptying       SMALLINT NOT NULL DEFAULT 0
);
CREATE INDEX vector_stores_expiry ON vector_stores (expires_at) WHERE expires_at > 0;
CREATE INDEX vector_stores_emptying ON vector_stores (datastore_id) WHERE emptying = 1;

CREATE TABLE file_batches (
    id           TEXT PRIMARY KEY,
    datastore_id TEXT NOT NULL REFERENCES datastores (id) ON DELETE CASCADE,
    created_at   BIGINT NOT NULL,
    cancelled_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX file_batches_datastore ON file_batches (datastore_id);

-- datasource_id is '' for a file that did not exist.
CREATE TABLE batch_files (
    batch_id      TEXT NOT NULL REFERENCES file_batches (id) ON DELETE CASCADE,
    position      BIGINT NOT NULL,
    file_id       TEXT NOT NULL,
    datasource_id TEXT NOT NULL,
    PRIMARY KEY (batch_id, position)
);
CREATE INDEX batch_files_file ON batch_files (batch_id, file_id);
