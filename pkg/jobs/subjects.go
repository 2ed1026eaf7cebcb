package jobs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Names of streams and durable consumers. Operators and autoscalers know them: they do not change.
const (
	StreamJobs        = "JOBS"
	StreamEvents      = "EVENTS"
	StreamDeadLetters = "DEADLETTERS"
	// ConsumerCatalog is the consumer of EVENTS by which events reach the catalog.
	ConsumerCatalog = "catalog"

	// StreamSchedules holds when web content is fetched again, and what has become due.
	StreamSchedules = "SCHEDULES"
	// ConsumerRefresh is the consumer of SCHEDULES by which what is due reaches the catalog.
	ConsumerRefresh = "refresh"

	streamTurns    = "TURNS"
	streamAttempts = "KV_attempts" // laid out as a key-value bucket, so that the nats command reads it
)

// ConsumerOf is the durable consumer of JOBS that all workers of a lane share: "worker-crawl", "worker-ingest" or
// "worker-local". Its pending and unacknowledged messages are the lane's backlog.
func ConsumerOf(lane domain.Lane) string { return "worker-" + string(lane) }

// Subjects of the streams: a prefix and three or two tokens.
const (
	prefixJobs        = "jobs"
	prefixEvents      = "events"
	prefixDeadLetters = "deadletters"
	prefixSchedules   = "schedules"
	prefixDue         = "due"
)

// prefixTurns begins the subjects of streamTurns; a host's key follows.
const prefixTurns = "turns."

// prefixAttempts begins the subjects of streamAttempts; the key follows.
const prefixAttempts = "$KV.attempts."

// kinds are the kinds of job that exist.
var kinds = []domain.JobKind{domain.JobCrawl, domain.JobIngest}

func validKind(k domain.JobKind) bool { return slices.Contains(kinds, k) }

func validLane(l domain.Lane) bool { return slices.Contains(domain.Lanes(), l) }

// kindOf is the kind of the jobs of a lane.
func kindOf(lane domain.Lane) domain.JobKind {
	if lane == domain.LaneCrawl {
		return domain.JobCrawl
	}
	return domain.JobIngest
}

func jobSubject(lane domain.Lane, datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixJobs, string(lane), datastoreID, datasourceID}, ".")
}

// everyLane matches the jobs of a datasource in whatever lane they are. The ids may be "*".
func everyLane(datastoreID, datasourceID string) string {
	return jobSubject("*", datastoreID, datasourceID)
}

func eventSubject(datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixEvents, datastoreID, datasourceID}, ".")
}

func deadLetterSubject(kind domain.JobKind, datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixDeadLetters, string(kind), datastoreID, datasourceID}, ".")
}

// target is what a subject of JOBS says about its message.
type target struct {
	lane                      domain.Lane
	datastoreID, datasourceID string
}

// scheduleSubject is where the schedule of a datasource lies. The ids may be "*".
func scheduleSubject(datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixSchedules, datastoreID, datasourceID}, ".")
}

// dueSubject is where the servers put a message when a datasource is due. The ids may be "*".
func dueSubject(datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixDue, datastoreID, datasourceID}, ".")
}

// parseSubject reads a subject of JOBS.
func parseSubject(subject string) (target, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 || parts[0] != prefixJobs {
		return target{}, fmt.Errorf("%w: subject %q", ErrInvalid, subject)
	}
	return target{lane: domain.Lane(parts[1]), datastoreID: parts[2], datasourceID: parts[3]}, nil
}

// checkIDs keeps anything that is not an id out of subjects, where a dot or wildcard would change the meaning.
func checkIDs(datastoreID, datasourceID string) error {
	if !domain.ValidID(datastoreID) {
		return fmt.Errorf("%w: datastore id %q", ErrInvalid, datastoreID)
	}
	if !domain.ValidID(datasourceID) {
		return fmt.Errorf("%w: datasource id %q", ErrInvalid, datasourceID)
	}
	return nil
}
