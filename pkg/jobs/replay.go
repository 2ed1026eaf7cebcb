package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// LastJobs calls f for the last job of every datasource of a datastore, in order of generation, until f fails; an
// empty datastoreID means all datastores. The log is read up to where it ended when LastJobs was called: jobs that
// f publishes are not seen by it. A job that is replaced or purged meanwhile is left out. Messages that are not
// jobs are skipped.
func (b *Broker) LastJobs(ctx context.Context, datastoreID string, f func(domain.Job) error) error {
	filter := prefixJobs + ".*.*.*"
	if datastoreID != "" {
		if !domain.ValidID(datastoreID) {
			return fmt.Errorf("%w: datastore id %q", ErrInvalid, datastoreID)
		}
		filter = prefixJobs + ".*." + datastoreID + ".*"
	}
	return b.scan(ctx, b.jobs, filter, func(s stored) error {
		job, err := decodeJob(s.subject, s.data)
		if err != nil {
			b.log.Warn("message in the job log is not a job", "subject", s.subject, "sequence", s.sequence, "error", err)
			return nil
		}
		job.Generation = s.sequence
		return f(job)
	})
}

// decodeJob reads a message of JOBS and checks it against its subject.
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
	if (target{job.Kind, job.DatastoreID, job.DatasourceID}) != to {
		return domain.Job{}, fmt.Errorf("%w: job %s does not belong to subject %q", ErrInvalid, job.ID, subject)
	}
	return job, nil
}

// stored is a message of a stream.
type stored struct {
	subject  string
	data     []byte
	sequence uint64
}

// scanBatch is how many messages of a scan are in memory at once.
const scanBatch = 64

// scan calls f for each message that matches the filter, in order, up to the sequence at which the stream ends now.
func (b *Broker) scan(ctx context.Context, stream jetstream.Stream, filter string, f func(stored) error) error {
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking for the end of a stream: %w", err)
	}
	name, end := info.Config.Name, info.State.LastSeq
	if info.State.Msgs == 0 {
		return nil
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Description:       "scan",
		FilterSubject:     filter,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: 5 * time.Minute, // f may take its time; a scan that died is cleaned up after it
	})
	if err != nil {
		return fmt.Errorf("reading stream %s: %w", name, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		// What cannot be deleted now ends by itself after InactiveThreshold.
		_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
	}()
	for seen := uint64(0); ; {
		batch, err := consumer.FetchNoWait(scanBatch)
		if err != nil {
			return fmt.Errorf("reading stream %s: %w", name, err)
		}
		// The batch is emptied before f runs: its messages arrive within one round trip.
		var page []stored
		done := false
		for msg := range batch.Messages() {
			meta, err := msg.Metadata()
			if err != nil {
				return fmt.Errorf("reading stream %s: %w", name, err)
			}
			seen++
			if meta.Sequence.Consumer != seen {
				return fmt.Errorf("reading stream %s: messages were lost before sequence %d", name, meta.Sequence.Stream)
			}
			if meta.Sequence.Stream > end {
				done = true
				continue
			}
			page = append(page, stored{subject: msg.Subject(), data: msg.Data(), sequence: meta.Sequence.Stream})
		}
		if err := batch.Error(); err != nil {
			return fmt.Errorf("reading stream %s: %w", name, err)
		}
		for _, s := range page {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("reading stream %s: %w", name, err)
			}
			if err := f(s); err != nil {
				return err
			}
		}
		if done || len(page) == 0 {
			return nil
		}
	}
}
