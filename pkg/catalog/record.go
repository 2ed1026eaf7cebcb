package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// place says where the newest job of a datasource is.
type place int

const (
	placeNowhere place = 0 // it has ended; a site may still wait for its pages
	placeOutbox  place = 1
	placeStream  place = 2 // in flight
)

// record is a datasource with what only the catalog knows of it.
type record struct {
	domain.Datasource
	jobKind domain.JobKind
	runID   string // the site's crawl that this site has begun, or that this page was last asked for by
	place   place
	capped  bool   // a site: pages were left out because of its limit
	replay  string // the id of the replay that last queued it, or ""
	seen    uint64 // the highest generation of a job of it that is known to be in the stream
	queued  int64  // when a crawl job of it was last accepted, in microseconds
	pages   int64  // a site: how many it has; kept by countPage, not by store
}

// live is the condition of datasources that wait for something, as the index datasources_unsettled has it.
const live = `status IN ('unsynched', 'pending', 'running')`

const recordColumns = `id, workspace_id, datastore_id, group_id, type, name, custom_id, metadata, config, original, status, progress,
	error, warnings, discovery_done, follow_links, capped, job_id, job_kind, run_id, place, runs, active_generation, chunks, text_bytes,
	fence, fingerprint, target_generation, target_chunks, target_bytes, target_fingerprint, move_id, resume_status, resume_error,
	seen_generation, replay_id, created_at, updated_at, last_synch, crawl, unchanged, duplicate_of, inputs, target_inputs, queued_at, pages`

func scanRecord(s scanner) (record, error) {
	var r record
	var metadata, config, original, progress, warnings, crawl string
	var target domain.Target
	var resume domain.Resume
	var discoveryDone, followLinks, capped, unchanged int
	var generation, fence, targetGeneration, seen, createdAt, updatedAt int64
	var lastSynch sql.NullInt64
	err := s.Scan(&r.ID, &r.WorkspaceID, &r.DatastoreID, &r.GroupID, &r.Type, &r.Name, &r.CustomID, &metadata, &config, &original,
		&r.Status, &progress, &r.Error, &warnings, &discoveryDone, &followLinks, &capped, &r.JobID, &r.jobKind, &r.runID, &r.place,
		&r.Runs, &generation, &r.Chunks, &r.TextBytes, &fence, &r.Fingerprint, &targetGeneration, &target.Chunks, &target.TextBytes,
		&target.Fingerprint, &r.MoveID, &resume.Status, &resume.Error, &seen, &r.replay, &createdAt, &updatedAt, &lastSynch,
		&crawl, &unchanged, &r.DuplicateOf, &r.Inputs, &target.Inputs, &r.queued, &r.pages)
	if err != nil {
		return r, err
	}
	r.DiscoveryDone, r.FollowLinks, r.capped = discoveryDone == 1, followLinks == 1, capped == 1
	r.Unchanged = unchanged == 1
	r.ActiveGeneration, r.Fence, r.seen = uint64(generation), uint64(fence), uint64(seen)
	if resume.Status != "" {
		r.Resume = &resume
	}
	if target.Generation = uint64(targetGeneration); target.Generation > 0 {
		r.Target = &target
	}
	r.CreatedAt, r.UpdatedAt, r.LastSynch = fromMicros(createdAt), fromMicros(updatedAt), fromNullMicros(lastSynch)
	return r, errors.Join(fromJSON(metadata, &r.Metadata), fromJSON(config, &r.Config), fromJSON(original, &r.Original),
		fromJSON(progress, &r.Progress), fromJSON(warnings, &r.Warnings), fromJSON(crawl, &r.Crawl))
}

// encoded are the fields of a record that are stored as text made from several values.
type encoded struct {
	metadata, config, original, originalKey, progress, warnings, search, crawl, hash, canonicalID string
	lead                                                                                          int
	target                                                                                        domain.Target // its generation is 0 when there is none
	resume                                                                                        domain.Resume // its status is "" when there is none
	originalBytes                                                                                 int64
}

func (r *record) encode() (encoded, error) {
	var e encoded
	var err error
	put := func(into *string, name string, v any) {
		if err == nil {
			if *into, err = toJSON(v); err != nil {
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

// insert stores a new record. taken says what follows when there is one with its id.
func (r *record) insert(ctx context.Context, t *tx, taken error) error {
	e, err := r.encode()
	if err != nil {
		return err
	}
	w := write{doing: "storing datasource " + r.ID, text: `INSERT INTO datasources (id, workspace_id, datastore_id, group_id, type, name, custom_id, metadata, config,
		original, original_key, search_text, status, progress, error, warnings, discovery_done, follow_links, capped, job_id, job_kind,
		run_id, place, runs, active_generation, chunks, text_bytes, fence, fingerprint, target_generation, target_chunks, target_bytes,
		target_fingerprint, move_id, resume_status, resume_error, seen_generation, replay_id, created_at, updated_at, touched_at, last_synch,
		crawl, unchanged, content_hash, duplicate_of, inputs, target_inputs, refresh, queued_at,
		canonical_id, original_bytes, lead)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`}
	w.args = []any{
		r.ID, r.WorkspaceID, r.DatastoreID, r.GroupID, r.Type, r.Name, r.CustomID, e.metadata, e.config,
		e.original, e.originalKey, e.search, r.Status, e.progress, r.Error, e.warnings, flag(r.DiscoveryDone), flag(r.FollowLinks),
		flag(r.capped), r.JobID, r.jobKind, r.runID, r.place, r.Runs, stored(r.ActiveGeneration), r.Chunks, r.TextBytes,
		stored(r.Fence), r.Fingerprint, stored(e.target.Generation), e.target.Chunks, e.target.TextBytes, e.target.Fingerprint,
		r.MoveID, e.resume.Status, e.resume.Error, stored(r.seen), r.replay, micros(r.CreatedAt), micros(r.UpdatedAt), micros(r.UpdatedAt),
		nullMicros(r.LastSynch), e.crawl, flag(r.Unchanged), e.hash, r.DuplicateOf, r.Inputs, e.target.Inputs, r.Config.Refresh, r.queued,
		e.canonicalID, e.originalBytes, e.lead,
	}
	w.check = func(rows int64) error {
		if rows == 0 {
			return taken
		}
		return nil
	}
	return t.later(ctx, w)
}

// store writes back everything that may have changed. touched is the time of the last sign of life, in microseconds.
func (r *record) store(ctx context.Context, t *tx, touched int64) error {
	e, err := r.encode()
	if err != nil {
		return err
	}
	w := write{doing: "storing datasource " + r.ID, text: `UPDATE datasources SET type = ?, name = ?, custom_id = ?, metadata = ?, config = ?, original = ?, original_key = ?,
		search_text = ?, status = ?, progress = ?, error = ?, warnings = ?, discovery_done = ?, follow_links = ?, capped = ?, job_id = ?,
		job_kind = ?, run_id = ?, place = ?, runs = ?, active_generation = ?, chunks = ?, text_bytes = ?, fence = ?, fingerprint = ?,
		target_generation = ?, target_chunks = ?, target_bytes = ?, target_fingerprint = ?, move_id = ?, resume_status = ?, resume_error = ?,
		seen_generation = ?, replay_id = ?, updated_at = ?, touched_at = ?, last_synch = ?, crawl = ?, unchanged = ?, content_hash = ?,
		duplicate_of = ?, inputs = ?, target_inputs = ?, refresh = ?, queued_at = ?, canonical_id = ?, original_bytes = ?, lead = ?
		WHERE id = ?`}
	w.args = []any{
		r.Type, r.Name, r.CustomID, e.metadata, e.config, e.original, e.originalKey,
		e.search, r.Status, e.progress, r.Error, e.warnings, flag(r.DiscoveryDone), flag(r.FollowLinks), flag(r.capped), r.JobID,
		r.jobKind, r.runID, r.place, r.Runs, stored(r.ActiveGeneration), r.Chunks, r.TextBytes, stored(r.Fence), r.Fingerprint,
		stored(e.target.Generation), e.target.Chunks, e.target.TextBytes, e.target.Fingerprint, r.MoveID, e.resume.Status, e.resume.Error,
		stored(r.seen), r.replay, micros(r.UpdatedAt), touched, nullMicros(r.LastSynch), e.crawl, flag(r.Unchanged), e.hash,
		r.DuplicateOf, r.Inputs, e.target.Inputs, r.Config.Refresh, r.queued, e.canonicalID, e.originalBytes, e.lead,
		r.ID,
	}
	return t.later(ctx, w)
}

// readRecord reads a record to be written in the same transaction; sql.ErrNoRows when there is none.
func readRecord(ctx context.Context, t *tx, id string) (record, error) {
	return scanRecord(t.queryRow(ctx, `SELECT `+recordColumns+` FROM datasources WHERE id = ?`+t.lock, id))
}

// stored is a generation as the signed column keeps it. Stream sequences do not come near the difference.
func stored(generation uint64) int64 { return int64(min(generation, math.MaxInt64)) }
