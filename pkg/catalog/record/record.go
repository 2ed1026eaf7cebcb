package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

// Accept makes the datasource wait for a job and returns that job for publishing. The job's ID, Kind, Force, Crawl and
// Move come from requested, and its other fields from the record and the datastore.
func (r *Record) Accept(requested domain.Job, store domain.Datastore) domain.Job {
	var job domain.Job
	switch {
	case requested.Kind == domain.JobCrawl:
		job = domain.NewCrawlJob(r.Datasource, store)
		if requested.Crawl != nil {
			job.Crawl = requested.Crawl
		}
		r.Resume = nil
	case requested.Move != "" && store.Move != nil && requested.Move == store.Move.ID:
		job = domain.NewMoveJob(r.Datasource, store)
		r.Runs++
	default:
		job = domain.NewIngestJob(r.Datasource, store)
		r.Resume = nil
		r.Runs++
	}
	job.ID, job.Force = requested.ID, requested.Force
	r.JobID, r.JobKind, r.Location = job.ID, job.Kind, InOutbox
	r.Status, r.Error, r.Progress = domain.StatusUnsynched, "", domain.Progress{}
	if job.Force {
		r.Inputs = "" // process the fetched content even if it is unchanged
	}
	if job.Kind == domain.JobCrawl {
		r.QueuedAt = db.Micros(r.UpdatedAt)
	}
	if r.Type.IsGroup() {
		r.RunID, r.Capped = job.ID, false
		r.BeginCrawl(r.UpdatedAt)
	}
	return job
}

// ReadByCustomID reads the datastore's newest datasource with this custom id, or fails with sql.ErrNoRows. lock is an
// SQL clause that locks the row, or "".
func ReadByCustomID(ctx context.Context, q db.Querier, lock, ws, datastoreID, customID string) (Record, error) {
	return Scan(q.QueryRow(ctx, `SELECT `+Columns+` FROM datasources
		WHERE workspace_id || '' = ? AND datastore_id = ? AND custom_id = ? AND custom_id <> '' AND `+NotDeleted+`
		ORDER BY created_at DESC, id DESC LIMIT 1`+lock, ws, datastoreID, customID))
}

// Location is where a datasource's newest job is.
type Location int

// Values of Location.
const (
	NoJob    Location = 0 // the job has ended; a site may still be waiting for its pages
	InOutbox Location = 1
	InStream Location = 2 // in flight
)

// Record is a datasource as stored, including the fields that only the catalog uses.
type Record struct {
	domain.Datasource
	JobKind  domain.JobKind
	RunID    string // site or archive: its newest crawl or unpacking; page or file: the last one to request it
	Location Location
	Capped   bool   // site: whether its limit excluded some pages
	ReplayID string // id of the last replay that queued it, or ""
	Seen     uint64 // highest generation seen in the stream among its jobs
	QueuedAt int64  // when its last crawl job was accepted, in microseconds
	Pages    int64  // site: number of pages; updated by CountPage, not by Store
}

// Live selects datasources that are waiting for a job. Keep its wording exactly as it is: otherwise, the database
// doesn't use the partial index datasources_unsettled.
const Live = `status IN ('unsynched', 'pending', 'running')`

// encodedParts holds values for columns whose representation differs from Record's.
type encodedParts struct {
	target  domain.Target // generation 0 means none
	resume  domain.Resume // status "" means none
	touched int64         // when the datasource or its job was last active, in microseconds
}

// row returns a datasource's columns for reading and storing.
func (r *Record) row(p *encodedParts) db.Row {
	return db.Row{
		db.Fixed("id", &r.ID),
		db.Fixed("workspace_id", &r.WorkspaceID),
		db.Fixed("datastore_id", &r.DatastoreID),
		db.Fixed("group_id", &r.GroupID),
		db.Col("type", &r.Type),
		db.Col("name", &r.Name),
		db.Col("custom_id", &r.CustomID),
		db.Col("metadata", &r.Metadata),
		db.Col("config", &r.Config),
		db.Col("original", &r.Original),
		db.Col("status", &r.Status),
		db.Col("progress", &r.Progress),
		db.Col("error", &r.Error),
		db.Col("warnings", &r.Warnings),
		db.Col("discovery_done", &r.DiscoveryDone),
		db.Col("follow_links", &r.FollowLinks),
		db.Col("capped", &r.Capped),
		db.Col("job_id", &r.JobID),
		db.Col("job_kind", &r.JobKind),
		db.Col("run_id", &r.RunID),
		db.Col("place", &r.Location),
		db.Col("runs", &r.Runs),
		db.Col("active_generation", &r.ActiveGeneration),
		db.Col("chunks", &r.Chunks),
		db.Col("text_bytes", &r.TextBytes),
		db.Col("fence", &r.Fence),
		db.Col("fingerprint", &r.Fingerprint),
		db.Col("inputs", &r.Inputs),
		db.Col("target_generation", &p.target.Generation),
		db.Col("target_chunks", &p.target.Chunks),
		db.Col("target_bytes", &p.target.TextBytes),
		db.Col("target_fingerprint", &p.target.Fingerprint),
		db.Col("target_inputs", &p.target.Inputs),
		db.Col("move_id", &r.MoveID),
		db.Col("resume_status", &p.resume.Status),
		db.Col("resume_error", &p.resume.Error),
		db.Col("seen_generation", &r.Seen),
		db.Col("replay_id", &r.ReplayID),
		db.Fixed("created_at", &r.CreatedAt),
		db.Col("updated_at", &r.UpdatedAt),
		db.Col("last_synch", &r.LastSynch),
		db.Col("crawl", &r.Crawl),
		db.Col("unchanged", &r.Unchanged),
		db.Col("duplicate_of", &r.DuplicateOf),
		db.Col("queued_at", &r.QueuedAt),
		db.ReadOnly("pages", &r.Pages),
	}
}

// stored returns the row to store, including columns that exist only for indexes and filters. touched is when the
// datasource or its job was last active, in microseconds since 1970.
func (r *Record) stored(touched int64) db.Row {
	p := encodedParts{touched: touched}
	if r.Target != nil {
		p.target = *r.Target
	}
	if r.Resume != nil {
		p.resume = *r.Resume
	}
	var originalKey, hash, canonicalID string
	var originalBytes int64
	var lead int
	if r.Original != nil {
		originalKey = r.Original.Key
		if !r.SharesOriginal() { // a shared original is counted once, with its file
			originalBytes = r.Original.Size
		}
	}
	fileID := r.FileID()
	if r.GroupID != "" {
		lead = r.Config.Lead
		if r.Original != nil {
			hash = r.TextName()
		}
		if r.Config.Canonical != "" && r.Status != domain.StatusSkipped {
			canonicalID = domain.ChildID(r.GroupID, r.Config.Canonical)
		}
	}
	search := strings.ToLower(strings.Join([]string{r.Name, r.CustomID, r.Config.SourceURL, r.Config.Sitemap, r.Config.FileName}, "\n"))
	return append(r.row(&p),
		db.Derived("touched_at", &p.touched),
		db.Derived("original_key", &originalKey),
		db.Derived("original_bytes", &originalBytes),
		db.Derived("search_text", &search),
		db.Derived("content_hash", &hash),
		db.Derived("canonical_id", &canonicalID),
		db.Derived("lead", &lead),
		db.Derived("refresh", &r.Config.Refresh),
		db.Derived("file_id", &fileID),
	)
}

// Columns are the columns that Scan reads.
var Columns = new(Record).row(new(encodedParts)).Columns("")

var (
	insertText = new(Record).stored(0).InsertText("datasources")
	updateText = new(Record).stored(0).UpdateText("datasources")
)

// Scan scans a row of Columns.
func Scan(s db.Scanner) (Record, error) {
	var r Record
	var p encodedParts
	err := r.row(&p).Scan(s)
	if p.target.Generation > 0 {
		r.Target = &p.target
	}
	if p.resume.Status != "" {
		r.Resume = &p.resume
	}
	return r, err
}

// Insert stores a new record. If the id already exists, it returns the `taken` error.
func (r *Record) Insert(ctx context.Context, t *db.Tx, taken error) error {
	args, err := r.stored(db.Micros(r.UpdatedAt)).InsertArgs()
	if err != nil {
		return fmt.Errorf("datasource %s: %w", r.ID, err)
	}
	return t.Queue(ctx, db.Write{Action: "storing datasource " + r.ID, Text: insertText, Args: args, Check: func(rows int64) error {
		if rows == 0 {
			return taken
		}
		return nil
	}})
}

// Store updates all columns that may have changed. `touched` is when the datasource or its job was last active, in
// microseconds since 1970.
func (r *Record) Store(ctx context.Context, t *db.Tx, touched int64) error {
	args, err := r.stored(touched).UpdateArgs(r.ID)
	if err != nil {
		return fmt.Errorf("datasource %s: %w", r.ID, err)
	}
	return t.Queue(ctx, db.Write{Action: "storing datasource " + r.ID, Text: updateText, Args: args})
}

// Read reads a record that the transaction is going to write. It fails with sql.ErrNoRows if there is none.
func Read(ctx context.Context, t *db.Tx, id string) (Record, error) {
	return Scan(t.QueryRow(ctx, `SELECT `+Columns+` FROM datasources WHERE id = ?`+t.Lock, id))
}

// Find is like Read but returns false instead of an error if there is no record.
func Find(ctx context.Context, t *db.Tx, id string) (r Record, exists bool, err error) {
	r, err = Read(ctx, t, id)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("reading datasource %s: %w", id, err)
	}
	return r, true, nil
}

// ReadAll reads records that the transaction is going to write, keyed by id. Unknown ids are absent.
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

// OwnStatus is an SQL expression for a datasource's status, ignoring moves: while a move job is running, it is the
// status from before that job. A site's pages are counted by this status.
const OwnStatus = `CASE WHEN resume_status <> '' THEN resume_status ELSE status END`

// OwnStatus returns the datasource's status, ignoring moves: while a move job is running, it returns the status from
// before that job.
func (r *Record) OwnStatus() domain.Status {
	if r.Resume != nil {
		return r.Resume.Status
	}
	return r.Status
}
