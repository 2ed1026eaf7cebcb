-- Finds datasources by their custom id in all datastores of a workspace.

-- +goose Up
CREATE INDEX datasources_workspace_custom ON datasources (workspace_id, custom_id, created_at, id) WHERE custom_id <> '';
