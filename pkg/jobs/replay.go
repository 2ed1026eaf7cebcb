package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of messages that a scan holds in memory.
const scanBatch = 256

// LastJobs calls f for every datasource's newest job across all lanes, ordered by generation, until f fails. It skips
// jobs with a generation lower than `from`, and messages that are not jobs. It holds a few hundred jobs in memory.
//
// LastJobs reads only entries that were in the log when it was called, so it does not see jobs published by f. A job
// replaced or purged during the scan is skipped. If a datasource gets a job during the scan, f may first receive one of
// its older jobs.
func (b *Broker) LastJobs(ctx context.Context, from uint64, f func(domain.Job) error) error {
	return b.pages(ctx, StreamJobs, allLanesFilter("*", "*"), from, func(page []*jetstream.RawStreamMsg) error {
		found, newest := make([]domain.Job, 0, len(page)), map[string]uint64{}
		subjects := make([]string, 0, len(page))
		for _, msg := range page {
			job, err := decodeJob(msg.Subject, msg.Data)
			if err != nil {
				b.log.Warn("skipping a message in the job log that is not a valid job", "subject", msg.Subject, "sequence", msg.Sequence, "error", err)
				continue
			}
			job.Generation = msg.Sequence
			found = append(found, job)
			if all := allLanesFilter(job.DatastoreID, job.DatasourceID); newest[all] == 0 {
				subjects = append(subjects, all)
			}
			newest[allLanesFilter(job.DatastoreID, job.DatasourceID)] = job.Generation
		}
		if err := b.findNewer(ctx, subjects, newest); err != nil {
			return err
		}
		for _, job := range found {
			if newest[allLanesFilter(job.DatastoreID, job.DatasourceID)] > job.Generation {
				continue
			}
			if err := f(job); err != nil {
				return err
			}
		}
		return nil
	})
}

// findNewer looks up each datasource's newest job and raises the datasource's entry in `newest` to that job's
// generation. The keys of `newest` are filters from allLanesFilter.
func (b *Broker) findNewer(ctx context.Context, subjects []string, newest map[string]uint64) error {
	if len(subjects) == 0 {
		return nil
	}
	last, err := b.leader(StreamJobs).LastOfEach(ctx, subjects)
	if err != nil {
		return fmt.Errorf("looking for newer jobs: %w", err)
	}
	for _, msg := range last {
		to, err := parseSubject(msg.Subject)
		if err != nil {
			continue
		}
		all := allLanesFilter(to.datastoreID, to.datasourceID)
		newest[all] = max(newest[all], msg.Sequence)
	}
	return nil
}

// decodeJob decodes a JOBS message and checks that the job matches the message's subject. The lane in the subject may
// differ from the one this version would choose for the job.
func decodeJob(subject string, data []byte) (domain.Job, error) {
	to, err := parseSubject(subject)
	if err != nil {
		return domain.Job{}, err
	}
	var job domain.Job
	if err := json.Unmarshal(data, &job); err != nil {
		return domain.Job{}, fmt.Errorf("decoding job: %w", err)
	}
	if err := checkJob(job); err != nil {
		return domain.Job{}, err
	}
	if !validLane(to.lane) || job.Kind != to.lane.Kind() || job.DatastoreID != to.datastoreID || job.DatasourceID != to.datasourceID {
		return domain.Job{}, fmt.Errorf("%w: job %s does not belong to subject %q", ErrInvalid, job.ID, subject)
	}
	return job, nil
}

// pages reads a stream from sequence number `from` to its current end and calls f with each page of matching messages,
// in order.
func (b *Broker) pages(ctx context.Context, stream, filter string, from uint64, f func([]*jetstream.RawStreamMsg) error) error {
	return b.leader(stream).Each(ctx, filter, from, scanBatch, func(page []*jetstream.RawStreamMsg) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading stream %s: %w", stream, err)
		}
		return f(page)
	})
}
