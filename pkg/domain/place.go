package domain

import "time"

// Place is where rows of a datastore lie: an engine, and the embedding model that made the vectors.
type Place struct {
	Engine Engine `json:"engine"`
	Model  string `json:"model"`
}

// IsZero reports whether the place names nothing.
func (p Place) IsZero() bool { return p == Place{} }

func (p Place) String() string { return string(p.Engine) + " with " + p.Model }

// Move is a datastore's way to another place: its content is rebuilt there by replay while readers are served from
// where it is, until nothing is missing in the new place.
type Move struct {
	ID string
	To Place
	// Since is the highest generation that existed when the move began. Rows of that generation or an older one in the
	// new place are left from something before, and are swept.
	Since     uint64
	StartedAt time.Time
}

// MoveProgress is how far a move has come. It ends by itself once Done is Total.
type MoveProgress struct {
	Total  int64  // datasources with content that readers see
	Done   int64  // of them, those whose content is in the new place too
	Failed int64  // of them, those that could not be rebuilt: they hold the move until resynced, deleted, or the move is cancelled
	Cause  string // the error of one that failed
}

// Lane is the way a job takes to its workers: each has a durable consumer of its own.
type Lane string

// The lanes.
const (
	LaneCrawl  Lane = "crawl"  // crawlers
	LaneIngest Lane = "ingest" // ingestors, wherever they run
	LaneLocal  Lane = "local"  // the ingestor inside the api process that holds the embedded index
)

// Lanes are all of them.
func Lanes() []Lane { return []Lane{LaneCrawl, LaneIngest, LaneLocal} }

// Lane says which workers the job is for.
func (j Job) Lane() Lane {
	if j.Kind == JobCrawl {
		return LaneCrawl
	}
	for _, p := range j.Places {
		if p.Engine == EngineEmbedded {
			return LaneLocal
		}
	}
	// Vectors that may be copied lie where only the api process can read them.
	if j.Previous != nil && j.Previous.Place.Engine == EngineEmbedded {
		return LaneLocal
	}
	return LaneIngest
}

// Event begins an event about the job, with what an event of the type says of its job.
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
		ev.Crawl = j.Crawl
	case j.Kind == JobIngest && (t == EventSynched || t == EventUnchanged):
		ev.Inputs = j.Inputs()
	}
	return ev
}
