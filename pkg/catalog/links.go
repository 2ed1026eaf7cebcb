package catalog

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	// maxLinkParts and maxPartBytes bound the stored links of one page: 2,000 addresses, 640 KiB before compression.
	maxLinkParts = 10
	maxPartBytes = 64 << 10
)

// keepLinks stores one part of the links of a page's last fetch. They replace the links of the fetch before.
func (t *tx) keepLinks(ctx context.Context, ev domain.Event) error {
	if ev.Part < 0 || ev.Part >= min(ev.Parts, maxLinkParts) {
		return nil
	}
	packed, err := packLinks(ev.Links)
	if err != nil {
		return err
	}
	doing := "keeping the links of page " + ev.DatasourceID
	if ev.Part == 0 {
		err := t.later(ctx, write{
			doing: doing,
			text:  `DELETE FROM page_links WHERE page_id = ? AND part >= ?`,
			args:  []any{ev.DatasourceID, ev.Parts},
		})
		if err != nil {
			return err
		}
	}
	return t.later(ctx, write{
		doing: doing,
		text: `INSERT INTO page_links (page_id, part, links) SELECT id, CAST(? AS SMALLINT), CAST(? AS TEXT) FROM datasources WHERE id = ?
			ON CONFLICT (page_id, part) DO UPDATE SET links = excluded.links`,
		args: []any{ev.Part, packed, ev.DatasourceID},
	})
}

// linksOf reads the stored links of pages, by page id. Pages without stored links are absent from the result.
func linksOf(ctx context.Context, t *tx, pageIDs []string) (map[string][]string, error) {
	type part struct{ page, links string }
	out := make(map[string][]string, len(pageIDs))
	err := inLists(t.db.dialect, pageIDs, func(in string, args []any) error {
		parts, err := collect(ctx, t, func(s scanner) (p part, err error) {
			err = s.Scan(&p.page, &p.links)
			return p, err
		}, `SELECT page_id, links FROM page_links WHERE page_id `+in+` ORDER BY page_id, part`, args...)
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

// packers pools flate writers, because each one is large.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// packLinks encodes addresses for a text column: one per line, compressed with DEFLATE, in base64. Addresses beyond
// maxPartBytes are dropped.
func packLinks(links []domain.Link) (string, error) {
	var b bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&b)
	left := maxPartBytes
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
	text, err := io.ReadAll(io.LimitReader(r, maxPartBytes))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return strings.Fields(string(text)), nil
}
