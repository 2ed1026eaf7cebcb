-- Pages that say they are another page keep their content until that one has its own; sites are deleted a part at a time,
-- and told apart by their addresses.

-- +goose Up

-- canonical_id is, of a page of a site that was not left out, the page that it says it is, '' for none.
ALTER TABLE datasources ADD COLUMN canonical_id TEXT NOT NULL DEFAULT '';
CREATE INDEX datasources_canonical ON datasources (canonical_id, id) WHERE canonical_id <> '';
CREATE INDEX datasources_sites ON datasources (datastore_id) WHERE type = 'web_site';

-- Sites that were deleted and of which there are still pages, which nobody sees.
CREATE TABLE doomed_sites (
    site_id TEXT NOT NULL PRIMARY KEY
);

-- +goose Down
DROP TABLE doomed_sites;
DROP INDEX datasources_sites;
DROP INDEX datasources_canonical;
ALTER TABLE datasources DROP COLUMN canonical_id;
