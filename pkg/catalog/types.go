package catalog

import (
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Page asks for one page of a list, newest first.
type Page struct {
	Limit  int    // 1 to MaxPageSize; 0 means DefaultPageSize
	Cursor string // the next cursor of the page before, "" for the first
}

// DefaultPageSize and MaxPageSize bound Page.Limit.
const (
	DefaultPageSize = 50
	MaxPageSize     = 200
)

// Priority orders jobs in the outbox: all of a lower number go before any of a higher one.
type Priority int

// The priorities. What follows from a job that was admitted already is PriorityFresh, so that what was begun is finished.
const (
	PriorityFresh  Priority = 0 // somebody has just added or changed this
	PriorityPages  Priority = 1 // pages that the crawl of a site found
	PriorityReplay Priority = 2 // resync of much: what is there stays searchable meanwhile
)

// NewDatasource is a datasource to be created together with its first job. Of the job only ID, Kind and Crawl are
// taken; the rest follows from the datasource.
type NewDatasource struct {
	Datasource domain.Datasource
	Job        domain.Job
	Priority   Priority
}

// Replacement is new content for a datasource that exists. A nil field leaves what is there.
type Replacement struct {
	Name     *string
	Metadata *map[string]any
	CustomID *string
	FileName *string
	Original domain.Original // its type, size and hash go into the datasource's config
	Job      domain.Job      // of kind ingest; only ID is taken, the rest follows from the datasource
	Priority Priority
}

// DatasourceFilter narrows a list of datasources; empty fields do not filter.
type DatasourceFilter struct {
	DatastoreID string
	Status      domain.Status
	Type        domain.DatasourceType
	GroupID     string
	Search      string // a part of the name, the address, the file name or the custom id, in any case
}

// Applied is what applying an event did.
type Applied struct {
	Found      bool              // false: the datasource no longer exists
	Changed    bool              // the datasource's row, or its site's, or its site's list of pages
	Datasource domain.Datasource // as it stands after the event
	Site       *domain.Datasource
	NewPages   int // pages of the site that the event has put into the outbox
}

// ActiveDatasource is what retrieval needs of a datasource: which generation readers may see, and what a fragment shows.
type ActiveDatasource struct {
	ID               string
	DatastoreID      string
	GroupID          string
	Type             domain.DatasourceType
	Name             string
	CustomID         string
	ActiveGeneration uint64 // 0: none yet, no row of it may be shown
	MIMEType         string
	SourceURL        string
	FileName         string
	Metadata         map[string]any
}

// ActiveState is what an audit compares with the index.
type ActiveState struct {
	DatasourceID string
	Generation   uint64 // active; 0: none yet
	Chunks       int64  // of that generation
	Status       domain.Status
}

// StuckDatasource has waited too long for its job. Job is a new job that does the same, with a fresh id: a stream
// swallows an id it has seen.
type StuckDatasource struct {
	domain.Datasource
	Job domain.Job
}

// StoredResponse is the answer kept for an idempotency key.
type StoredResponse struct {
	Status int
	Body   string
}

// SweepTask is a queued sweep. Attempts counts the times it was deferred.
type SweepTask struct {
	domain.Sweep
	Attempts int
	DueAt    time.Time
}
