-- Pages that say they are another page keep their content until that one has its own, and then make way.

-- +goose Up

-- canonical_id is, of a page of a site that was not left out, the page that it says it is, '' for none.
ALTER TABLE datasources ADD COLUMN canonical_id TEXT NOT NULL DEFAULT '';
CREATE INDEX datasources_canonical ON datasources (canonical_id, id) WHERE canonical_id <> '';

-- +goose Down
DROP INDEX datasources_canonical;
ALTER TABLE datasources DROP COLUMN canonical_id;
