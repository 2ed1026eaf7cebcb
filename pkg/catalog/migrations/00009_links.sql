-- What a page links to is kept, so that a page that has not changed still leads on, and a change of a site's settings finds
-- what it takes now.

-- +goose Up

-- links are addresses, packed as links.go has it; those of one page are in several parts.
CREATE TABLE page_links (
    page_id TEXT NOT NULL REFERENCES datasources (id) ON DELETE CASCADE,
    part    SMALLINT NOT NULL,
    links   TEXT NOT NULL,
    PRIMARY KEY (page_id, part)
);

-- lead is, of a page of a site that is read for its links alone, how many such pages lead to it in a row; else 0.
ALTER TABLE datasources ADD COLUMN lead SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX datasources_lead ON datasources (group_id) WHERE lead > 0;
CREATE INDEX datasources_group_id ON datasources (group_id, id) WHERE group_id <> '';

-- +goose Down
DROP INDEX datasources_group_id;
DROP INDEX datasources_lead;
ALTER TABLE datasources DROP COLUMN lead;
DROP TABLE page_links;
