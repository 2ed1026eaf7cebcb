package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// verdict is what a fetched page of a site is to the site's others.
type verdict struct {
	keeper  string   // the page that stays in its place; "": it stays itself
	reason  string   // of keeper, in words for people
	yielded []string // pages that have been left out for it
}

// maxEqualPages bounds the pages of equal content that are looked at. There is one, but for pages from before duplicates
// were looked for.
const maxEqualPages = 16

// judge says whether a page that has been fetched stays: not if it says that it is another page of the site, and of those
// with the same content only the one with the best address. The others are left out then.
func (c *Catalog) judge(ctx context.Context, t *tx, r record, store domain.Datastore, f domain.Fetched, at time.Time) (verdict, error) {
	site, err := readRecord(ctx, t, r.GroupID)
	if errors.Is(err, sql.ErrNoRows) {
		return verdict{}, nil
	}
	if err != nil {
		return verdict{}, fmt.Errorf("reading site %s: %w", r.GroupID, err)
	}
	if f.Canonical != "" {
		keeper, err := c.canonical(ctx, t, site, r, store, f)
		if err != nil {
			return verdict{}, err
		}
		if keeper != "" {
			return verdict{keeper: keeper, reason: itSaysItIs(f.Canonical)}, nil
		}
	}
	said := r
	said.Original, said.Config.TextHash = &f.Original, f.TextHash
	name := said.TextName()
	if name == "" {
		return verdict{}, nil
	}
	// Pages fetched by versions that compared bytes have no text hash.
	equal, err := collect(ctx, t, scanRecord, `SELECT `+recordColumns+` FROM datasources
		WHERE group_id = ? AND content_hash IN (?, ?) AND content_hash <> '' AND id <> ? LIMIT ?`+t.lock,
		r.GroupID, name, f.Original.SHA256, r.ID, maxEqualPages)
	if err != nil {
		return verdict{}, fmt.Errorf("looking for pages of the same content: %w", err)
	}
	r.Config.EndAt(f.URL)
	// Those that say they are this page do not compete with it: they make way when it can be read.
	equal = slices.DeleteFunc(equal, func(p record) bool { return !p.Alive() || names(site, p.Config, r.ID) })
	var best *record
	for i := range equal {
		if p := &equal[i]; best == nil || p.Config.Better(best.Config) {
			best = p
		}
	}
	if best != nil && best.Config.Better(r.Config) {
		return verdict{keeper: best.ID, reason: sameContent(best.Config)}, nil
	}
	var v verdict
	for _, p := range equal {
		if err := c.yield(ctx, t, p, r, at); err != nil {
			return verdict{}, err
		}
		v.yielded = append(v.yielded, p.ID)
	}
	return v, nil
}

// sameContent is the reason of a page that is left out for one with the address.
func sameContent(keeper domain.DatasourceConfig) string {
	return "It has the same content as " + keeper.SourceURL + "."
}

// yield leaves a page out for one that has been fetched, has the same content and a better address, and so do the pages
// that were left out for it.
func (c *Catalog) yield(ctx context.Context, t *tx, p, keeper record, at time.Time) error {
	reason := sameContent(keeper.Config)
	err := t.later(ctx, write{
		doing: "leaving out what page " + p.ID + " stood for",
		text:  `UPDATE datasources SET duplicate_of = ?, error = ? WHERE duplicate_of = ? AND duplicate_of <> '' AND status = 'skipped'`,
		args:  []any{keeper.ID, reason, p.ID},
	})
	if err != nil {
		return err
	}
	return c.makeWay(ctx, t, &p, keeper.ID, reason, at)
}

// makeWay removes a page's content from the index and cancels its pending work, because another page replaces it or its site no
// longer includes it.
func (c *Catalog) makeWay(ctx context.Context, t *tx, p *record, keeper, reason string, at time.Time) error {
	out := p.LeaveOut(reason, keeper, p.seen, at)
	p.JobID, p.place = "", placeNowhere
	err := t.later(ctx, write{
		doing: "leaving out page " + p.ID,
		text:  `DELETE FROM outbox WHERE datasource_id = ?`,
		args:  []any{p.ID},
	})
	if err != nil {
		return err
	}
	if err := p.store(ctx, t, c.stamp()); err != nil {
		return err
	}
	return queueSweeps(ctx, t, out.Sweeps)
}

// release runs after a job of a page has ended, and queues work for the pages that were left out for it. If the page
// has no content, all of them are judged again. If it has other content or begins to lead elsewhere, the pages with the
// same text are. If its content has become known, the pages that name it as their canonical address are.
func (c *Catalog) release(ctx context.Context, t *tx, before, after domain.Datasource) error {
	switch {
	case after.GroupID == "":
		return nil
	case !after.Alive():
		return queueRelease(ctx, t, after, workRelease)
	case before.Original == nil && after.Original != nil:
		return queueRelease(ctx, t, after, workNamed)
	case before.Original != nil && after.Original != nil && before.TextName() != after.TextName():
		return queueRelease(ctx, t, after, workCompare)
	case before.Original != nil && before.Config.FinalURL == "" && after.Config.FinalURL != "":
		return queueRelease(ctx, t, after, workCompare)
	default:
		return nil
	}
}

func queueRelease(ctx context.Context, t *tx, page domain.Datasource, kind workKind) error {
	var one int
	err := t.queryRow(ctx, `SELECT 1 FROM datasources WHERE duplicate_of = ? AND duplicate_of <> '' LIMIT 1`, page.ID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for its duplicates: %w", err)
	}
	return queueWork(ctx, t, siteTask{siteID: page.GroupID, kind: kind, pageID: page.ID})
}
