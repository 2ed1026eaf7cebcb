package jobs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Names of streams and durable consumers. Operators and autoscalers rely on these names, so they must not change.
const (
	StreamJobs        = "JOBS"
	StreamEvents      = "EVENTS"
	StreamDeadLetters = "DEADLETTERS"
	// ConsumerCatalog is the EVENTS consumer that updates the catalog.
	ConsumerCatalog = "catalog"

	// StreamSchedules holds refresh schedules and due messages.
	StreamSchedules = "SCHEDULES"
	// ConsumerRefresh is the SCHEDULES consumer that starts due refreshes.
	ConsumerRefresh = "refresh"

	streamSlots    = "TURNS"
	streamAttempts = "KV_attempts" // laid out as a key-value bucket, so that the nats command can read it
)

// ConsumerOf returns the name of the durable consumer on JOBS that all of a lane's workers share, for example
// "worker-ingest". Its pending and unacknowledged messages are the lane's backlog.
func ConsumerOf(lane domain.Lane) string { return "worker-" + string(lane) }

// Prefixes of the streams' subjects. Each is followed by two or three tokens.
const (
	prefixJobs        = "jobs"
	prefixEvents      = "events"
	prefixDeadLetters = "deadletters"
	prefixSchedules   = "schedules"
	prefixDue         = "due"
)

// prefixSlots is the prefix of subjects in streamSlots. The host's hash follows it.
const prefixSlots = "turns."

// prefixAttempts is the prefix of subjects in streamAttempts. The entry's key follows it.
const prefixAttempts = "$KV.attempts."

var kinds = []domain.JobKind{domain.JobCrawl, domain.JobIngest, domain.JobScan}

func validKind(k domain.JobKind) bool { return slices.Contains(kinds, k) }

func validLane(l domain.Lane) bool { return slices.Contains(domain.Lanes(), l) }

func jobSubject(lane domain.Lane, datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixJobs, string(lane), datastoreID, datasourceID}, ".")
}

// allLanesFilter returns the subject filter for a datasource's jobs in all lanes. The ids may be "*".
func allLanesFilter(datastoreID, datasourceID string) string {
	return jobSubject("*", datastoreID, datasourceID)
}

func eventSubject(datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixEvents, datastoreID, datasourceID}, ".")
}

func deadLetterSubject(kind domain.JobKind, datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixDeadLetters, string(kind), datastoreID, datasourceID}, ".")
}

// target holds the variable parts of a JOBS subject.
type target struct {
	lane                      domain.Lane
	datastoreID, datasourceID string
}

// scheduleSubject returns the subject for a datasource's schedule. The ids may be "*".
func scheduleSubject(datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixSchedules, datastoreID, datasourceID}, ".")
}

// dueSubject returns the subject for the servers' announcements that a datasource is due. The ids may be "*".
func dueSubject(datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixDue, datastoreID, datasourceID}, ".")
}

func parseSubject(subject string) (target, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 || parts[0] != prefixJobs {
		return target{}, fmt.Errorf("%w: subject %q", ErrInvalid, subject)
	}
	return target{lane: domain.Lane(parts[1]), datastoreID: parts[2], datasourceID: parts[3]}, nil
}

// checkIDs rejects invalid ids, because a dot or wildcard would change the meaning of a subject.
func checkIDs(datastoreID, datasourceID string) error {
	if !domain.ValidID(datastoreID) {
		return fmt.Errorf("%w: datastore id %q", ErrInvalid, datastoreID)
	}
	if !domain.ValidID(datasourceID) {
		return fmt.Errorf("%w: datasource id %q", ErrInvalid, datasourceID)
	}
	return nil
}
