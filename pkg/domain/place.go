package domain

import (
	"slices"
	"time"
)

// Place is where a datastore's rows are stored: an engine and the embedding model that produced the vectors.
type Place struct {
	Engine Engine `json:"engine"`
	Model  string `json:"model"`
}

// IsZero reports whether the place is empty.
func (p Place) IsZero() bool { return p == Place{} }

func (p Place) String() string { return string(p.Engine) + " with " + p.Model }

// Move is a datastore's move to another place. Replays rebuild its content there, and until they are done, the old
// place serves readers.
type Move struct {
	ID string
	To Place
	// Since is the highest generation when the move started. Rows up to this generation in the new place are leftovers
	// and are swept.
	Since     uint64
	StartedAt time.Time
}

// MoveProgress is a move's progress. The move ends when Done equals Total.
type MoveProgress struct {
	Total  int64  // datasources with active content
	Done   int64  // datasources whose content is also in the new place
	Failed int64  // datasources that could not be rebuilt; they block the move until they are resynced or deleted or the move is cancelled
	Cause  string // error from one of the failed datasources
}

// Lane is a job queue with its own durable consumer.
type Lane string

// Lanes.
const (
	LaneCrawl  Lane = "crawl"  // crawlers
	LaneIngest Lane = "ingest" // ingestors in any process
	LaneLocal  Lane = "local"  // the ingestor in the api process that has the embedded index

	// Scan jobs have their own lanes, so that other documents never wait for them.
	LaneScan      Lane = "scan"       // like LaneIngest
	LaneLocalScan Lane = "local-scan" // like LaneLocal
)

// Lanes returns all lanes.
func Lanes() []Lane { return []Lane{LaneCrawl, LaneIngest, LaneLocal, LaneScan, LaneLocalScan} }

// Kind returns the kind of the lane's jobs.
func (l Lane) Kind() JobKind {
	switch l {
	case LaneCrawl:
		return JobCrawl
	case LaneScan, LaneLocalScan:
		return JobScan
	}
	return JobIngest
}

// Lane returns the job's lane.
func (j Job) Lane() Lane {
	local := j.usesEmbedded()
	switch {
	case j.Kind == JobCrawl:
		return LaneCrawl
	case j.Kind == JobScan && local:
		return LaneLocalScan
	case j.Kind == JobScan:
		return LaneScan
	case local:
		return LaneLocal
	}
	return LaneIngest
}

// usesEmbedded reports whether the job writes to the embedded index or copies vectors from it. Only the api process can
// do either.
func (j Job) usesEmbedded() bool {
	return slices.ContainsFunc(j.Places, func(p Place) bool { return p.Engine == EngineEmbedded }) ||
		j.Previous != nil && j.Previous.Place.Engine == EngineEmbedded
}

// Event returns an event about the job, with all fields that are taken from the job filled in.
func (j Job) Event(t EventType, at time.Time) Event {
	ev := Event{
		Type:         t,
		JobID:        j.ID,
		JobKind:      j.Kind,
		WorkspaceID:  j.WorkspaceID,
		DatastoreID:  j.DatastoreID,
		DatasourceID: j.DatasourceID,
		Generation:   j.Generation,
		Places:       j.Places,
		Move:         j.Move,
		At:           at.UTC(),
		Trace:        j.Trace,
	}
	switch {
	case t == EventPostponed:
		ev.Crawl, ev.Force = j.Crawl, j.Force
	case j.Kind.Ingests() && (t == EventSynched || t == EventUnchanged):
		ev.Inputs = j.Inputs()
	}
	return ev
}
