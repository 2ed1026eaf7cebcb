package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/originals"
)

// originals compares the original store with the originals that datasources refer to.
func (a *audit) originals(ctx context.Context) error {
	// Read the store before the catalog; otherwise an original stored in between would look like a stray.
	kept := map[string]bool{} // key → whether it is old enough to be a stray
	newest := sweepClock(a.GuardedNow, a.Now)().Add(-uploadGrace)
	err := a.Originals.Each(ctx, func(key string, _ int64, modified time.Time) error {
		kept[key] = modified.Before(newest)
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing originals: %w", err)
	}
	ofFiles := map[string]bool{} // keys of files; datasources may refer to them too
	err = a.Catalog.EachOriginal(ctx, func(o catalog.OriginalRef) error {
		if _, ok := kept[o.Key]; ok {
			delete(kept, o.Key)
			if o.DatasourceID == "" {
				ofFiles[o.Key] = true
			}
			return a.verifyOriginal(ctx, o)
		}
		if ofFiles[o.Key] {
			return nil
		}
		return a.handleMissingOriginal(ctx, o)
	})
	if err != nil {
		return fmt.Errorf("listing referenced originals: %w", err)
	}
	if a.Refetched > 0 {
		a.note("originals of %s are lost or damaged and will be fetched again", formatCount(a.Refetched, "web page"))
	}
	if a.DamagedOriginals > 0 {
		a.note("originals of %s are damaged; their content stays searchable, but upload it again before re-indexing", formatCount(a.DamagedOriginals, "datasource"))
	}
	if a.MissingOriginals > 0 {
		a.note("originals of %s are lost; their content stays searchable, but upload it again before re-indexing", formatCount(a.MissingOriginals, "datasource"))
	}
	if a.lostFiles > 0 {
		a.note("the content of %s that vector stores can use is lost or damaged; upload it again", formatCount(a.lostFiles, "file"))
	}
	if a.Pruned > 0 {
		a.note("deleted %s that had neither rows nor an original", formatCount(a.Pruned, "datasource"))
	}
	if a.Lost > 0 {
		a.note("rows and originals of %s are lost; upload again any content that is still needed, and delete the rest with: sluice repair --prune", formatCount(a.Lost, "datasource"))
	}
	for key, old := range kept {
		if !old {
			continue
		}
		a.StrayOriginals++
		if err := a.Catalog.QueueSweep(ctx, domain.Sweep{Originals: []string{key}}); err != nil {
			return fmt.Errorf("queueing a sweep: %w", err)
		}
	}
	if a.StrayOriginals > 0 {
		a.note("%s will be removed", formatCount(a.StrayOriginals, "stray original"))
	}
	return nil
}

// datasourceOf returns an original's datasource, or the zero value if the datasource was deleted.
func (a *audit) datasourceOf(ctx context.Context, o catalog.OriginalRef) (domain.Datasource, error) {
	d, err := a.Catalog.Datasource(ctx, o.WorkspaceID, o.DatasourceID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.Datasource{}, nil
	}
	if err != nil {
		err = fmt.Errorf("reading datasource %s: %w", o.DatasourceID, err)
	}
	return d, err
}

// verifyOriginal checks an original's digest if the audit is thorough. A synched web page whose original is damaged is
// fetched again. Any other damage is only reported.
func (a *audit) verifyOriginal(ctx context.Context, o catalog.OriginalRef) error {
	if !a.Thorough {
		return nil
	}
	err := a.Originals.Verify(ctx, o.Key)
	switch {
	case err == nil, errors.Is(err, originals.ErrNotFound): // deleted in the meantime
		return nil
	case !errors.Is(err, originals.ErrCorrupt):
		return fmt.Errorf("verifying the original of datasource %s: %w", o.DatasourceID, err)
	}
	if o.DatasourceID == "" {
		a.lostFiles++
		return nil
	}
	d, err := a.datasourceOf(ctx, o)
	if err != nil || d.Original == nil || d.Original.Key != o.Key {
		return err // nil if it was deleted or replaced in the meantime
	}
	if d.Type == domain.TypeWebPage && d.Status == domain.StatusSynched {
		return a.fetchAgain(ctx, d)
	}
	a.DamagedOriginals++
	switch n := a.DamagedOriginals; {
	case n <= lostListed:
		a.note("the original of datasource %s (%s) is damaged", d.ID, d.Name)
	case n == lostListed+1:
		a.note("there are more damaged originals; they are counted, but not listed")
	}
	return nil
}

// handleMissingOriginal handles a datasource whose original is not in the store. A synched web page is fetched again.
// If Prune is set, a datasource without any content is deleted. In all other cases, the loss is only counted.
func (a *audit) handleMissingOriginal(ctx context.Context, o catalog.OriginalRef) error {
	if o.DatasourceID == "" {
		exists, err := a.Originals.Exists(ctx, o.Key) // it may have been stored since the store was read
		if err == nil && !exists {
			a.lostFiles++
		}
		return err
	}
	d, err := a.datasourceOf(ctx, o)
	if err != nil || !d.Status.Terminal() {
		return err // nil if it was deleted or its job will store an original or fail
	}
	gone, err := a.hasLostOriginal(ctx, d)
	if err != nil || !gone {
		return err
	}
	switch {
	case a.lost[d.ID]: // counted already
	case d.Type == domain.TypeWebPage && d.Status == domain.StatusSynched:
		return a.fetchAgain(ctx, d)
	case d.ActiveGeneration == 0 && d.Type != domain.TypeArchive: // the files of an archive have originals of their own
		_, err = a.countLost(ctx, d, 0, 0)
		return err
	default:
		a.MissingOriginals++
	}
	return nil
}

// hasLostOriginal reports whether a datasource's original is missing and no unfinished job could replace it.
func (a *audit) hasLostOriginal(ctx context.Context, d domain.Datasource) (bool, error) {
	if d.Original == nil {
		return false, nil
	}
	exists, err := a.Originals.Exists(ctx, d.Original.Key)
	if err != nil {
		return false, fmt.Errorf("looking for the original of datasource %s: %w", d.ID, err)
	}
	return !exists, nil
}

// fetchAgain requeues a web page without its cache validators. With them, the response might be "not modified", and the
// original would not be restored.
func (a *audit) fetchAgain(ctx context.Context, d domain.Datasource) error {
	job, err := a.Catalog.NewJob(ctx, d, domain.JobCrawl)
	if err != nil {
		return ignoreNotFound(err, "making a job for", d.ID)
	}
	job.Crawl.ETag, job.Crawl.LastModified = "", ""
	job.Force = true // rows may be missing too
	if _, err := a.Catalog.Requeue(ctx, d.WorkspaceID, d.ID, job, catalog.PriorityReplay); err != nil {
		return ignoreNotFound(err, "fetching again", d.ID)
	}
	a.Refetched++
	return nil
}

// Maximum number of lost datasources listed by name.
const lostListed = 100

// countLost counts a datasource that can't be repaired. The datasource has `have` of its `want` rows. If it has no rows
// and Prune is set, countLost deletes the datasource.
func (a *audit) countLost(ctx context.Context, d domain.Datasource, have, want int64) (deleted bool, err error) {
	if a.lost[d.ID] {
		return false, nil
	}
	if a.Prune && have == 0 {
		if deleted, err = a.Catalog.DeleteIf(ctx, d); err != nil {
			return false, fmt.Errorf("deleting datasource %s: %w", d.ID, err)
		}
	}
	a.lost[d.ID] = true
	after := ""
	if deleted {
		a.Pruned++
		after = ": deleted"
	} else {
		a.Lost++
	}
	rows := "its rows"
	if have > 0 {
		rows = fmt.Sprintf("%d of its %d rows", want-have, want)
	}
	switch n := len(a.lost); {
	case n <= lostListed:
		a.note("datasource %s (%s) has lost its original and %s%s", d.ID, d.Name, rows, after)
	case n == lostListed+1:
		a.note("there are more datasources like this; they are counted, but not listed")
	}
	return deleted, nil
}

// ignoreNotFound returns nil if the error means that the datasource no longer exists. It adds the action and the
// datasource to all other errors.
func ignoreNotFound(err error, action, id string) error {
	if err == nil || domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	return fmt.Errorf("%s datasource %s: %w", action, id, err)
}

// formatCount formats a count with its noun: 1 row, 2 rows.
func formatCount[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
