package jobs

import (
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Names of streams, buckets and durable consumers.
const (
	StreamJobs        = "JOBS"
	StreamEvents      = "EVENTS"
	StreamDeadLetters = "DEADLETTERS"

	bucketAttempts  = "attempts"
	consumerCatalog = "catalog"
)

// Subjects of the streams: a prefix and three or two tokens.
const (
	prefixJobs        = "jobs"
	prefixEvents      = "events"
	prefixDeadLetters = "deadletters"
)

// kinds are the kinds of job that exist.
var kinds = []domain.JobKind{domain.JobCrawl, domain.JobIngest}

func validKind(k domain.JobKind) bool {
	for _, known := range kinds {
		if k == known {
			return true
		}
	}
	return false
}

// workerName is the durable consumer that all workers of a kind share.
func workerName(kind domain.JobKind) string { return "worker-" + string(kind) }

func jobSubject(kind domain.JobKind, datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixJobs, string(kind), datastoreID, datasourceID}, ".")
}

func eventSubject(datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixEvents, datastoreID, datasourceID}, ".")
}

func deadLetterSubject(kind domain.JobKind, datastoreID, datasourceID string) string {
	return strings.Join([]string{prefixDeadLetters, string(kind), datastoreID, datasourceID}, ".")
}

// target is what a subject of JOBS or DEADLETTERS says about its message.
type target struct {
	kind                      domain.JobKind
	datastoreID, datasourceID string
}

// parseSubject reads a subject of JOBS or DEADLETTERS.
func parseSubject(subject string) (target, error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 4 || (parts[0] != prefixJobs && parts[0] != prefixDeadLetters) {
		return target{}, fmt.Errorf("%w: subject %q", ErrInvalid, subject)
	}
	return target{kind: domain.JobKind(parts[1]), datastoreID: parts[2], datasourceID: parts[3]}, nil
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
