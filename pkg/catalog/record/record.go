package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Accept makes the job the record's newest: what is there waits for it from now on. It returns the job as it is to be
// published: everything but its id, its kind, whether it is forced, what to fetch and for which move it is follows from
// the record and the datastore.
func (r *Record) Accept(asked domain.Job, store domain.Datastore) domain.Job {
	var job domain.Job
	switch {
	case asked.Kind == domain.JobCrawl:
		job = domain.NewCrawlJob(r.Datasource, store)
		if asked.Crawl != nil {
			job.Crawl = asked.Crawl
		}
		r.Resume = nil
	case asked.Move != "" && store.Move != nil && asked.Move == store.Move.ID:
		job = domain.NewMoveJob(r.Datasource, store)
		r.Runs++
	default:
		job = domain.NewIngestJob(r.Datasource, store)
		r.Resume = nil
		r.Runs++
	}
	job.ID, job.Force = asked.ID, asked.Force
	r.JobID, r.JobKind, r.Location = job.ID, job.Kind, InOutbox
	r.Status, r.Error, r.Progress = domain.StatusUnsynched, "", domain.Progress{}
	if job.Force {
		r.Inputs = "" // what is fetched is read, also when it has not changed
	}
	if job.Kind == domain.JobCrawl {
		r.QueuedAt = db.Micros(r.UpdatedAt)
	}
	if r.Type == domain.TypeWebSite {
		r.RunID, r.Capped = job.ID, false
		r.BeginCrawl(r.UpdatedAt)
	}
	return job
}

// ReadByCustomID reads the newest datasource of a datastore with a custom id; sql.ErrNoRows when there is none.
func ReadByCustomID(ctx context.Context, q db.Querier, lock, ws, datastoreID, customID string) (Record, error) {
	return Scan(q.QueryRow(ctx, `SELECT `+Columns+` FROM datasources
		WHERE workspace_id || '' = ? AND datastore_id = ? AND custom_id = ? AND custom_id <> '' AND `+Alive+`
		ORDER BY created_at DESC, id DESC LIMIT 1`+lock, ws, datastoreID, customID))
}

// Location says where the newest job of a datasource is.
type Location int

const (
	Nowhere  Location = 0 // it has ended; a site may still wait for its pages
	InOutbox Location = 1
	InStream Location = 2 // in flight
)

// Record is a datasource with what only the catalog knows of it.
type Record struct {
	domain.Datasource
	JobKind  domain.JobKind
	RunID    string // the site's crawl that this site has begun, or that this page was last asked for by
	Location Location
	Capped   bool   // a site: pages were left out because of its limit
	ReplayID string // the id of the replay that last queued it, or ""
	Seen     uint64 // the highest generation of a job of it that is known to be in the stream
	QueuedAt int64  // when a crawl job of it was last accepted, in microseconds
	Pages    int64  // a site: how many it has; kept by CountPage, not by store
}

// Live is the condition of datasources that wait for something, as the index datasources_unsettled has it.
const Live = `status IN ('unsynched', 'pending', 'running')`

// Columns are the columns that Scan reads.
const Columns = `id, workspace_id, datastore_id, group_id, type, name, custom_id, metadata, config, original, status, progress,
	error, warnings, discovery_done, follow_links, capped, job_id, job_kind, run_id, place, runs, active_generation, chunks, text_bytes,
	fence, fingerprint, target_generation, target_chunks, target_bytes, target_fingerprint, move_id, resume_status, resume_error,
	seen_generation, replay_id, created_at, updated_at, last_synch, crawl, unchanged, duplicate_of, inputs, target_inputs, queued_at, pages`

// Scan scans a record.
func Scan(s db.Scanner) (Record, error) {
	var r Record
	var metadata, config, original, progress, warnings, crawl string
	var target domain.Target
	var resume domain.Resume
	var discoveryDone, followLinks, capped, unchanged int
	var generation, fence, targetGeneration, seen, createdAt, updatedAt int64
	var lastSynch sql.NullInt64
	err := s.Scan(&r.ID, &r.WorkspaceID, &r.DatastoreID, &r.GroupID, &r.Type, &r.Name, &r.CustomID, &metadata, &config, &original,
		&r.Status, &progress, &r.Error, &warnings, &discoveryDone, &followLinks, &capped, &r.JobID, &r.JobKind, &r.RunID, &r.Location,
		&r.Runs, &generation, &r.Chunks, &r.TextBytes, &fence, &r.Fingerprint, &targetGeneration, &target.Chunks, &target.TextBytes,
		&target.Fingerprint, &r.MoveID, &resume.Status, &resume.Error, &seen, &r.ReplayID, &createdAt, &updatedAt, &lastSynch,
		&crawl, &unchanged, &r.DuplicateOf, &r.Inputs, &target.Inputs, &r.QueuedAt, &r.Pages)
	if err != nil {
		return r, err
	}
	r.DiscoveryDone, r.FollowLinks, r.Capped = discoveryDone == 1, followLinks == 1, capped == 1
	r.Unchanged = unchanged == 1
	r.ActiveGeneration, r.Fence, r.Seen = uint64(generation), uint64(fence), uint64(seen)
	if resume.Status != "" {
		r.Resume = &resume
	}
	if target.Generation = uint64(targetGeneration); target.Generation > 0 {
		r.Target = &target
	}
	r.CreatedAt, r.UpdatedAt, r.LastSynch = db.FromMicros(createdAt), db.FromMicros(updatedAt), db.FromNullMicros(lastSynch)
	return r, errors.Join(db.FromJSON(metadata, &r.Metadata), db.FromJSON(config, &r.Config), db.FromJSON(original, &r.Original),
		db.FromJSON(progress, &r.Progress), db.FromJSON(warnings, &r.Warnings), db.FromJSON(crawl, &r.Crawl))
}

// encoded are the fields of a record that are stored as text made from several values.
type encoded struct {
	metadata, config, original, originalKey, progress, warnings, search, crawl, hash, canonicalID string
	lead                                                                                          int
	target                                                                                        domain.Target // its generation is 0 when there is none
	resume                                                                                        domain.Resume // its status is "" when there is none
	originalBytes                                                                                 int64
}

func (r *Record) encode() (encoded, error) {
	var e encoded
	var err error
	put := func(into *string, name string, v any) {
		if err == nil {
			if *into, err = db.ToJSON(v); err != nil {
				err = fmt.Errorf("storing the %s of datasource %s: %w", name, r.ID, err)
			}
		}
	}
	if len(r.Metadata) > 0 {
		put(&e.metadata, "metadata", r.Metadata)
	}
	put(&e.config, "config", r.Config)
	if r.Original != nil {
		put(&e.original, "original", r.Original)
		e.originalKey, e.originalBytes = r.Original.Key, r.Original.Size
		if r.GroupID != "" {
			e.hash = r.TextName()
		}
	}
	if r.GroupID != "" && r.Config.Canonical != "" && r.Status != domain.StatusSkipped {
		e.canonicalID = domain.ChildID(r.GroupID, r.Config.Canonical)
	}
	if r.GroupID != "" {
		e.lead = r.Config.Lead
	}
	if r.Crawl != nil {
		put(&e.crawl, "crawl", r.Crawl)
	}
	if r.Progress != (domain.Progress{}) {
		put(&e.progress, "progress", r.Progress)
	}
	if len(r.Warnings) > 0 {
		put(&e.warnings, "warnings", r.Warnings)
	}
	if r.Resume != nil {
		e.resume = *r.Resume
	}
	if r.Target != nil {
		e.target = *r.Target
	}
	e.search = strings.ToLower(strings.Join([]string{r.Name, r.CustomID, r.Config.SourceURL, r.Config.Sitemap, r.Config.FileName}, "\n"))
	return e, err
}

// Insert stores a new record. taken says what follows when there is one with its id.
func (r *Record) Insert(ctx context.Context, t *db.Tx, taken error) error {
	e, err := r.encode()
	if err != nil {
		return err
	}
	w := db.Write{Doing: "storing datasource " + r.ID, Text: `INSERT INTO datasources (id, workspace_id, datastore_id, group_id, type, name, custom_id, metadata, config,
		original, original_key, search_text, status, progress, error, warnings, discovery_done, follow_links, capped, job_id, job_kind,
		run_id, place, runs, active_generation, chunks, text_bytes, fence, fingerprint, target_generation, target_chunks, target_bytes,
		target_fingerprint, move_id, resume_status, resume_error, seen_generation, replay_id, created_at, updated_at, touched_at, last_synch,
		crawl, unchanged, content_hash, duplicate_of, inputs, target_inputs, refresh, queued_at,
		canonical_id, original_bytes, lead)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`}
	w.Args = []any{
		r.ID, r.WorkspaceID, r.DatastoreID, r.GroupID, r.Type, r.Name, r.CustomID, e.metadata, e.config,
		e.original, e.originalKey, e.search, r.Status, e.progress, r.Error, e.warnings, db.Flag(r.DiscoveryDone), db.Flag(r.FollowLinks),
		db.Flag(r.Capped), r.JobID, r.JobKind, r.RunID, r.Location, r.Runs, Stored(r.ActiveGeneration), r.Chunks, r.TextBytes,
		Stored(r.Fence), r.Fingerprint, Stored(e.target.Generation), e.target.Chunks, e.target.TextBytes, e.target.Fingerprint,
		r.MoveID, e.resume.Status, e.resume.Error, Stored(r.Seen), r.ReplayID, db.Micros(r.CreatedAt), db.Micros(r.UpdatedAt), db.Micros(r.UpdatedAt),
		db.NullMicros(r.LastSynch), e.crawl, db.Flag(r.Unchanged), e.hash, r.DuplicateOf, r.Inputs, e.target.Inputs, r.Config.Refresh, r.QueuedAt,
		e.canonicalID, e.originalBytes, e.lead,
	}
	w.Check = func(rows int64) error {
		if rows == 0 {
			return taken
		}
		return nil
	}
	return t.Later(ctx, w)
}

// Store writes back everything that may have changed. touched is the time of the last sign of life, in microseconds.
func (r *Record) Store(ctx context.Context, t *db.Tx, touched int64) error {
	e, err := r.encode()
	if err != nil {
		return err
	}
	w := db.Write{Doing: "storing datasource " + r.ID, Text: `UPDATE datasources SET type = ?, name = ?, custom_id = ?, metadata = ?, config = ?, original = ?, original_key = ?,
		search_text = ?, status = ?, progress = ?, error = ?, warnings = ?, discovery_done = ?, follow_links = ?, capped = ?, job_id = ?,
		job_kind = ?, run_id = ?, place = ?, runs = ?, active_generation = ?, chunks = ?, text_bytes = ?, fence = ?, fingerprint = ?,
		target_generation = ?, target_chunks = ?, target_bytes = ?, target_fingerprint = ?, move_id = ?, resume_status = ?, resume_error = ?,
		seen_generation = ?, replay_id = ?, updated_at = ?, touched_at = ?, last_synch = ?, crawl = ?, unchanged = ?, content_hash = ?,
		duplicate_of = ?, inputs = ?, target_inputs = ?, refresh = ?, queued_at = ?, canonical_id = ?, original_bytes = ?, lead = ?
		WHERE id = ?`}
	w.Args = []any{
		r.Type, r.Name, r.CustomID, e.metadata, e.config, e.original, e.originalKey,
		e.search, r.Status, e.progress, r.Error, e.warnings, db.Flag(r.DiscoveryDone), db.Flag(r.FollowLinks), db.Flag(r.Capped), r.JobID,
		r.JobKind, r.RunID, r.Location, r.Runs, Stored(r.ActiveGeneration), r.Chunks, r.TextBytes, Stored(r.Fence), r.Fingerprint,
		Stored(e.target.Generation), e.target.Chunks, e.target.TextBytes, e.target.Fingerprint, r.MoveID, e.resume.Status, e.resume.Error,
		Stored(r.Seen), r.ReplayID, db.Micros(r.UpdatedAt), touched, db.NullMicros(r.LastSynch), e.crawl, db.Flag(r.Unchanged), e.hash,
		r.DuplicateOf, r.Inputs, e.target.Inputs, r.Config.Refresh, r.QueuedAt, e.canonicalID, e.originalBytes, e.lead,
		r.ID,
	}
	return t.Later(ctx, w)
}

// Read reads a record to be written in the same transaction; sql.ErrNoRows when there is none.
func Read(ctx context.Context, t *db.Tx, id string) (Record, error) {
	return Scan(t.QueryRow(ctx, `SELECT `+Columns+` FROM datasources WHERE id = ?`+t.Lock, id))
}

// Stored is a generation as the signed column keeps it. Stream sequences do not come near the difference.
func Stored(generation uint64) int64 { return int64(min(generation, math.MaxInt64)) }

// ReadAll reads records to be written in the same transaction.
func ReadAll(ctx context.Context, t *db.Tx, ids []string) (map[string]Record, error) {
	out := make(map[string]Record, len(ids))
	err := db.InLists(t, ids, func(in string, args []any) error {
		records, err := db.Collect(ctx, t, Scan, `SELECT `+Columns+` FROM datasources WHERE id `+in+`
			ORDER BY id`+t.Lock, args...)
		for _, r := range records {
			out[r.ID] = r
		}
		return err
	})
	return out, err
}

// OwnStatus is the status of a page as its site sees it: that the page is taken to another place is no matter of the site's.
const OwnStatus = `CASE WHEN resume_status <> '' THEN resume_status ELSE status END`

// OwnStatus is the status without regard to a move.
func (r *Record) OwnStatus() domain.Status {
	if r.Resume != nil {
		return r.Resume.Status
	}
	return r.Status
}
