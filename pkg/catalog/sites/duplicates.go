package sites

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// verdict is the result of comparing a fetched page with the site's other pages.
type verdict struct {
	Keeper  string   // id of the page kept instead; "" if this page is kept
	Reason  string   // why the page is skipped in favour of Keeper, worded for users
	Yielded []string // ids of pages skipped in favour of this page
}

// Maximum number of pages with the same content that a fetched page is compared with. A site has several such pages
// only if they were fetched by an earlier version, which did not detect duplicates.
const maxEqualPages = 16

// Judge decides whether to keep a fetched page. If the page names another page as canonical, that page may replace it;
// see the canonical method. Among pages with the same content, only the one with the best address is kept.
func (c *Sites) Judge(ctx context.Context, t *db.Tx, r record.Record, store domain.Datastore, f domain.Fetched, at time.Time) (verdict, error) {
	site, exists, err := record.Find(ctx, t, r.GroupID)
	if err != nil || !exists {
		return verdict{}, err
	}
	if f.Canonical != "" {
		keeper, err := c.canonical(ctx, t, site, r, store, f)
		if err != nil {
			return verdict{}, err
		}
		if keeper != "" {
			return verdict{Keeper: keeper, Reason: canonicalReason(f.Canonical)}, nil
		}
	}
	said := r
	said.Original, said.Config.TextHash = &f.Original, f.TextHash
	name := said.TextName()
	if name == "" {
		return verdict{}, nil
	}
	// Pages fetched by older versions have no text hash, so look for the hash of the bytes as well.
	equal, err := db.Collect(ctx, t, record.Scan, `SELECT `+record.Columns+` FROM datasources
		WHERE group_id = ? AND content_hash IN (?, ?) AND content_hash <> '' AND id <> ? LIMIT ?`+t.Lock,
		r.GroupID, name, f.Original.SHA256, r.ID, maxEqualPages)
	if err != nil {
		return verdict{}, fmt.Errorf("looking for pages of the same content: %w", err)
	}
	r.Config.SetFinalURL(f.URL)
	// Pages that name the fetched page as canonical don't count, because they are skipped once the fetched page has
	// content.
	equal = slices.DeleteFunc(equal, func(p record.Record) bool { return !p.Alive() || site.HasCanonical(p.Config, r.ID) })
	configs := lists.Map(equal, func(p record.Record) domain.DatasourceConfig { return p.Config })
	if best := domain.BestPage(configs); best >= 0 && configs[best].IsBetterThan(r.Config) {
		return verdict{Keeper: equal[best].ID, Reason: sameContent(configs[best])}, nil
	}
	var v verdict
	for _, p := range equal {
		if err := replaceByKeeper(ctx, t, p, r, at); err != nil {
			return verdict{}, err
		}
		v.Yielded = append(v.Yielded, p.ID)
	}
	return v, nil
}

// sameContent returns the reason, as shown to users, for skipping a page as a duplicate of the keeper.
func sameContent(keeper domain.DatasourceConfig) string {
	return "It has the same content as " + keeper.SourceURL + "."
}

// replaceByKeeper skips page p in favour of keeper, a fetched page with the same content and a better address. Pages
// skipped in favour of p become duplicates of keeper.
func replaceByKeeper(ctx context.Context, t *db.Tx, p, keeper record.Record, at time.Time) error {
	reason := sameContent(keeper.Config)
	err := t.Queue(ctx, db.Write{
		Action: "replacing page " + p.ID + " as the original of its duplicates",
		Text:   `UPDATE datasources SET duplicate_of = ?, error = ? WHERE duplicate_of = ? AND duplicate_of <> '' AND status = 'skipped'`,
		Args:   []any{keeper.ID, reason, p.ID},
	})
	if err != nil {
		return err
	}
	return removeContent(ctx, t, &p, keeper.ID, reason, at)
}

// removeContent removes a page's content from the index and cancels its pending work. It is for pages replaced by
// another page or excluded by new settings.
func removeContent(ctx context.Context, t *db.Tx, p *record.Record, keeper, reason string, at time.Time) error {
	out := p.Exclude(reason, keeper, p.Seen, at)
	p.JobID, p.Location = "", record.NoJob
	err := t.Queue(ctx, db.Write{
		Action: "leaving out page " + p.ID,
		Text:   `DELETE FROM outbox WHERE datasource_id = ?`,
		Args:   []any{p.ID},
	})
	if err != nil {
		return err
	}
	if err := p.Store(ctx, t, t.Stamp()); err != nil {
		return err
	}
	return record.QueueSweeps(ctx, t, out.Sweeps)
}

// Release must be called when a page's job has finished. If the job changed the page, it queues work on pages skipped
// in its favour; see domain.PageChange.
func Release(ctx context.Context, t *db.Tx, before, after domain.Datasource) error {
	change := after.ChangeFrom(before)
	if change == domain.PageSame {
		return nil
	}
	return QueueRelease(ctx, t, after, change)
}

// QueueRelease queues work on pages that were skipped as duplicates of this changed page, if there are any.
func QueueRelease(ctx context.Context, t *db.Tx, page domain.Datasource, change domain.PageChange) error {
	stands, err := db.Exists(ctx, t, `SELECT 1 FROM datasources WHERE duplicate_of = ? AND duplicate_of <> '' LIMIT 1`, page.ID)
	if err != nil || !stands {
		return err
	}
	return queueWork(ctx, t, siteTask{siteID: page.GroupID, kind: workOf[change], pageID: page.ID})
}
