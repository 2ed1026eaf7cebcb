-- Settings of searches, a row for each version. search_version is the version in use; 0 for none.

-- +goose Up
ALTER TABLE datastores ADD COLUMN search_version BIGINT NOT NULL DEFAULT 0;

-- settings is JSON.
CREATE TABLE search_settings (
    datastore_id TEXT NOT NULL REFERENCES datastores (id) ON DELETE CASCADE,
    version      BIGINT NOT NULL,
    settings     TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (datastore_id, version)
);
