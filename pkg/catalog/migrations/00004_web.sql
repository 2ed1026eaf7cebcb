-- Sites are crawled again, their pages are judged, and what is to be done about many of them is done a part at a time.

-- +goose Up

-- crawl is, of a site, what is known of its newest crawl. content_hash is, of a page of a site, the checksum of its
-- original, and duplicate_of the page that it was left out for. inputs are those of the active generation, target_inputs
-- those of the target's. refresh is the schedule, '' for none. queued_at is when a crawl job was last accepted. pages is,
-- of a site, how many it has.
ALTER TABLE datasources ADD COLUMN crawl TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN unchanged SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN content_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN duplicate_of TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN inputs TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN target_inputs TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN refresh TEXT NOT NULL DEFAULT '';
ALTER TABLE datasources ADD COLUMN queued_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE datasources ADD COLUMN pages BIGINT NOT NULL DEFAULT 0;
UPDATE datasources SET pages = (SELECT COUNT(*) FROM datasources p WHERE p.group_id = datasources.id AND p.group_id <> '')
    WHERE type = 'web_site';
DROP INDEX datasources_group_status;
CREATE INDEX datasources_group_status ON datasources (group_id, status, unchanged) WHERE group_id <> '';
CREATE INDEX datasources_run ON datasources (group_id, run_id, id) WHERE group_id <> '';
CREATE INDEX datasources_hash ON datasources (group_id, content_hash) WHERE content_hash <> '';
CREATE INDEX datasources_duplicate ON datasources (duplicate_of, id) WHERE duplicate_of <> '';
CREATE INDEX datasources_refresh ON datasources (id) WHERE refresh <> '';

-- What is to be done about pages of a site; kind is named in sitework.go. run_id is the crawl that it belongs to.
CREATE TABLE site_work (
    site_id  TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    kind     SMALLINT NOT NULL,
    page_id  TEXT NOT NULL,
    run_id   TEXT NOT NULL,
    after_id TEXT NOT NULL,
    PRIMARY KEY (site_id, kind, page_id)
);

-- Pages that were deleted or found gone since the newest crawl of the site began: it does not ask for them again, wherever
-- they are linked.
CREATE TABLE left_pages (
    site_id TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    page_id TEXT NOT NULL,
    PRIMARY KEY (site_id, page_id)
);

-- +goose Down
DROP TABLE left_pages;
DROP TABLE site_work;
DROP INDEX datasources_refresh;
DROP INDEX datasources_duplicate;
DROP INDEX datasources_hash;
DROP INDEX datasources_run;
DROP INDEX datasources_group_status;
CREATE INDEX datasources_group_status ON datasources (group_id, status) WHERE group_id <> '';
ALTER TABLE datasources DROP COLUMN pages;
ALTER TABLE datasources DROP COLUMN queued_at;
ALTER TABLE datasources DROP COLUMN refresh;
ALTER TABLE datasources DROP COLUMN target_inputs;
ALTER TABLE datasources DROP COLUMN inputs;
ALTER TABLE datasources DROP COLUMN duplicate_of;
ALTER TABLE datasources DROP COLUMN content_hash;
ALTER TABLE datasources DROP COLUMN unchanged;
ALTER TABLE datasources DROP COLUMN crawl;
