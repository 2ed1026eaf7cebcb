package sites

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	// Limits on a page's stored links: 2,000 addresses and 640 KiB before compression.
	maxLinkParts     = 10
	maxLinkPartBytes = 64 << 10
)

// StoreLinks stores one part of the links found by a page's last fetch. Together, the parts replace the links from the
// previous fetch.
func StoreLinks(ctx context.Context, t *db.Tx, ev domain.Event) error {
	if ev.Part < 0 || ev.Part >= min(ev.Parts, maxLinkParts) {
		return nil
	}
	packed, err := packLinks(ev.Links)
	if err != nil {
		return err
	}
	doing := "storing the links of page " + ev.DatasourceID
	if ev.Part == 0 {
		err := t.Queue(ctx, db.Write{
			Action: doing,
			Text:   `DELETE FROM page_links WHERE page_id = ? AND part >= ?`,
			Args:   []any{ev.DatasourceID, ev.Parts},
		})
		if err != nil {
			return err
		}
	}
	return t.Queue(ctx, db.Write{
		Action: doing,
		Text: `INSERT INTO page_links (page_id, part, links) SELECT id, CAST(? AS SMALLINT), CAST(? AS TEXT) FROM datasources WHERE id = ?
			ON CONFLICT (page_id, part) DO UPDATE SET links = excluded.links`,
		Args: []any{ev.Part, packed, ev.DatasourceID},
	})
}

// linksOf reads pages' stored links, keyed by page id. Pages without stored links are absent.
func linksOf(ctx context.Context, t *db.Tx, pageIDs []string) (map[string][]string, error) {
	type part struct{ page, links string }
	out := make(map[string][]string, len(pageIDs))
	err := db.InLists(t, pageIDs, func(in string, args []any) error {
		parts, err := db.Collect(ctx, t, db.Scan(func(p *part) []any { return []any{&p.page, &p.links} }), `SELECT page_id, links FROM page_links WHERE page_id `+in+` ORDER BY page_id, part`, args...)
		if err != nil {
			return err
		}
		for _, p := range parts {
			urls, err := unpackLinks(p.links)
			if err != nil {
				return fmt.Errorf("reading links of page %s: %w", p.page, err)
			}
			out[p.page] = append(out[p.page], urls...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading links: %w", err)
	}
	return out, nil
}

// pagesWithLinks returns the ids of the pages whose links are stored, including pages without any links.
func pagesWithLinks(ctx context.Context, t *db.Tx, pageIDs []string) (map[string]bool, error) {
	known := make(map[string]bool, len(pageIDs))
	err := db.InLists(t, pageIDs, func(in string, args []any) error {
		ids, err := db.Collect(ctx, t, db.ScanString, `SELECT page_id FROM page_links WHERE part = 0 AND page_id `+in, args...)
		for _, id := range ids {
			known[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for stored links: %w", err)
	}
	return known, nil
}

// FollowStored follows the stored links of an unchanged page, because the fetch of an unchanged page reports no links.
// It returns the number of queued jobs.
func (c *Sites) FollowStored(ctx context.Context, t *db.Tx, page record.Record, store domain.Datastore, ev domain.Event) (int, error) {
	site, exists, err := record.Find(ctx, t, page.GroupID)
	if err != nil || !exists {
		return 0, err
	}
	if !site.FollowLinks || !acceptsPages(&site, page, ev) || page.Config.Lead > domain.MaxLead {
		return 0, nil
	}
	links, err := linksOf(ctx, t, []string{page.ID})
	if err != nil {
		return 0, err
	}
	var found []foundLink
	for _, u := range links[page.ID] {
		found = append(found, foundLink{Link: domain.Link{URL: u, Depth: page.Config.Depth + 1}, lead: page.Config.Lead + 1})
	}
	return c.addStoredLinks(ctx, t, &site, store, found)
}

// addStoredLinks adds the targets of stored links as pages and sets Capped if the site is at its page limit. It does
// not count rejected links, because they were already counted by the crawl that found them. It returns the number of
// queued jobs.
func (c *Sites) addStoredLinks(ctx context.Context, t *db.Tx, site *record.Record, store domain.Datastore, found []foundLink) (int, error) {
	if len(found) == 0 {
		return 0, nil
	}
	queued, refused, err := c.addPages(ctx, t, site, store, found)
	if err != nil || refused[reasonPageLimit] == 0 || site.Capped {
		return queued, err
	}
	site.Capped = true
	return queued, site.Store(ctx, t, t.Stamp())
}

// deflaters pools flate writers, because each one uses a lot of memory.
var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // impossible: the level is a valid constant
	}
	return w
}}

// packLinks encodes addresses for a text column: one per line, compressed with DEFLATE, in base64. It drops addresses
// beyond maxLinkPartBytes.
func packLinks(links []domain.Link) (string, error) {
	var b bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&b)
	left := maxLinkPartBytes
	for _, l := range links {
		if left -= len(l.URL) + 1; left < 0 {
			break
		}
		if _, err := io.WriteString(w, l.URL+"\n"); err != nil {
			return "", fmt.Errorf("packing links: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("packing links: %w", err)
	}
	return base64.RawStdEncoding.EncodeToString(b.Bytes()), nil
}

func unpackLinks(packed string) ([]string, error) {
	r := flate.NewReader(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(packed)))
	text, err := io.ReadAll(io.LimitReader(r, maxLinkPartBytes))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return strings.Fields(string(text)), nil
}
