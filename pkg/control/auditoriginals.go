package control

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// originals compares the store of originals with what datasources refer to.
func (a *audit) originals(ctx context.Context) error {
	// The store is read before the catalog, so that an original referenced in between is seen as referenced.
	kept := map[string]bool{} // key → old enough to be a stray
	newest := aged(a.Aged, a.Now)().Add(-uploadGrace)
	err := a.Originals.Each(ctx, func(key string, _ int64, modified time.Time) error {
		kept[key] = modified.Before(newest)
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing originals: %w", err)
	}
	err = a.Catalog.EachOriginal(ctx, func(o catalog.OriginalRef) error {
		if _, ok := kept[o.Key]; ok {
			delete(kept, o.Key)
			return nil
		}
		return a.withoutOriginal(ctx, o)
	})
	if err != nil {
		return fmt.Errorf("listing referenced originals: %w", err)
	}
	if a.Refetched > 0 {
		a.note("originals of %s are lost; to be fetched again", counted(a.Refetched, "web page"))
	}
	if a.MissingOriginals > 0 {
		a.note("originals of %s are lost; what is indexed stays searchable, to read it anew upload it again", counted(a.MissingOriginals, "datasource"))
	}
	if a.Pruned > 0 {
		a.note("%s without rows and original deleted", counted(a.Pruned, "datasource"))
	}
	if a.Lost > 0 {
		a.note("rows and originals of %s are lost; upload again what is still wanted, and have the rest deleted with: sluice repair --prune", counted(a.Lost, "datasource"))
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
		a.note("%s, to be removed", counted(a.StrayOriginals, "stray original"))
	}
	return nil
}

// withoutOriginal looks at a datasource whose original was not in the store when that was listed.
func (a *audit) withoutOriginal(ctx context.Context, o catalog.OriginalRef) error {
	d, err := a.Catalog.Datasource(ctx, o.WorkspaceID, o.DatasourceID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading datasource %s: %w", o.DatasourceID, err)
	}
	if !d.Status.Terminal() {
		return nil // its job will bring one, or end with an error that says so
	}
	gone, err := a.hasLostOriginal(ctx, d)
	if err != nil || !gone {
		return err
	}
	switch {
	case a.lost[d.ID]: // it is counted as lost
	case d.Type == domain.TypeWebPage && d.Status == domain.StatusSynched:
		return a.fetchAgain(ctx, d)
	case d.ActiveGeneration == 0:
		_, err = a.giveUp(ctx, d, 0, 0)
		return err
	default:
		a.MissingOriginals++
	}
	return nil
}

// hasLostOriginal reports whether a datasource refers to an original that is not there. It is asked of datasources that
// wait for nothing, whose original stays while they do.
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

// fetchAgain has a web page fetched whole, whatever its server says about changes: "not modified" would bring nothing back.
func (a *audit) fetchAgain(ctx context.Context, d domain.Datasource) error {
	job, err := a.Catalog.NewJob(ctx, d, domain.JobCrawl)
	if err != nil {
		return unlessGone(err, "making a job for", d.ID)
	}
	job.Crawl.ETag, job.Crawl.LastModified = "", ""
	job.Force = true // rows may be missing as well
	if _, err := a.Catalog.Requeue(ctx, d.WorkspaceID, d.ID, job, catalog.PriorityReplay); err != nil {
		return unlessGone(err, "fetching again", d.ID)
	}
	a.Refetched++
	return nil
}

// lostListed bounds how many lost datasources are told by name.
const lostListed = 100

// giveUp counts a datasource that nothing is left to mend from, have of its rows being there, and deletes it if that is
// asked for and there are none.
func (a *audit) giveUp(ctx context.Context, d domain.Datasource, have, want int64) (deleted bool, err error) {
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
		a.note("there are more such datasources, which are only counted")
	}
	return deleted, nil
}

// unlessGone says what was being done to a datasource when it failed; nothing when it has been deleted meanwhile.
func unlessGone(err error, doing, id string) error {
	if err == nil || domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	return fmt.Errorf("%s datasource %s: %w", doing, id, err)
}

// counted is a number of things: 1 row, 2 rows.
func counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
