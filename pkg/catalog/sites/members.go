package sites

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// AddMembers adds files found in an archive, each with an ingest job, and returns the number of queued jobs.
//
// A file that was in the archive's previous version keeps its datasource. If the file's content is unchanged, the new
// copy of the content is swept, and the file gets no job unless force is set. Adding the same files again has no
// effect. Files deleted since the archive's job began are not added.
func AddMembers(ctx context.Context, t *db.Tx, archive record.Record, store domain.Datastore, members []domain.Original, force bool) (queued int, err error) {
	ids := lists.Map(members, func(o domain.Original) string { return domain.MemberID(archive.ID, o.Name) })
	known, err := record.ReadAll(ctx, t, ids)
	if err != nil {
		return 0, fmt.Errorf("reading files of archive %s: %w", archive.ID, err)
	}
	gone, err := blocked(ctx, t, archive.ID, ids, known)
	if err != nil {
		return 0, err
	}
	added := 0
	var unneeded []string // keys of originals
	for i, o := range members {
		r, exists := known[ids[i]]
		switch {
		case gone[ids[i]]:
			unneeded = append(unneeded, o.Key)
			continue
		case exists && r.RunID == archive.RunID:
			continue // the event was delivered before, or the archive's job ran twice
		case exists && r.HasMember(o) && !force:
			unneeded = append(unneeded, o.Key)
			r.RunID, r.Unchanged = archive.RunID, true
			if err := r.Store(ctx, t, t.Stamp()); err != nil {
				return 0, err
			}
			continue
		case exists:
			if err := changeMember(ctx, t, archive, &r, store, o, force); err != nil {
				return 0, err
			}
		default:
			if r, err = addMember(ctx, t, archive, store, o, force); err != nil {
				return 0, err
			}
			added++
		}
		known[r.ID] = r
		queued++
	}
	if len(unneeded) > 0 {
		err := record.QueueSweep(ctx, t, domain.Sweep{
			WorkspaceID: archive.WorkspaceID, DatastoreID: archive.DatastoreID, DatasourceID: archive.ID, Originals: unneeded,
		})
		if err != nil {
			return 0, err
		}
	}
	if added == 0 {
		return queued, nil
	}
	return queued, CountPage(ctx, t, archive.ID, added)
}

func addMember(ctx context.Context, t *db.Tx, archive record.Record, store domain.Datastore, o domain.Original, force bool) (record.Record, error) {
	r := record.Record{Datasource: archive.NewMember(o), RunID: archive.RunID}
	r.CreatedAt = db.FromMicros(t.Stamp())
	r.UpdatedAt = r.CreatedAt
	job := r.Accept(memberJob(archive, r, force), store)
	if err := r.Insert(ctx, t, nil); err != nil { // nil: the file already exists
		return r, err
	}
	return r, record.Enqueue(ctx, t, job, record.PriorityPages)
}

// changeMember updates a known file, whose content may have changed.
func changeMember(ctx context.Context, t *db.Tx, archive record.Record, r *record.Record, store domain.Datastore, o domain.Original, force bool) error {
	changed := r.Original == nil || r.Original.SHA256 != o.SHA256
	unneeded := r.ReplaceMember(o)
	r.RunID = archive.RunID
	r.UpdatedAt = db.FromMicros(t.Stamp())
	if changed {
		r.Config.ChangedAt = r.UpdatedAt
	}
	job := r.Accept(memberJob(archive, *r, force), store)
	if err := r.Store(ctx, t, db.Micros(r.UpdatedAt)); err != nil {
		return err
	}
	if err := record.Enqueue(ctx, t, job, record.PriorityPages); err != nil || unneeded == "" {
		return err
	}
	return record.QueueSweep(ctx, t, domain.Sweep{
		WorkspaceID: r.WorkspaceID, DatastoreID: r.DatastoreID, DatasourceID: r.ID, Originals: []string{unneeded},
	})
}

// memberJob returns the ingest job for an archive's file. The job's id is unique, because a file gets only one job each
// time the archive is unpacked.
func memberJob(archive, r record.Record, force bool) domain.Job {
	return domain.Job{ID: domain.MemberJobID(archive.RunID, r.ID), Kind: domain.JobIngest, Force: force}
}
