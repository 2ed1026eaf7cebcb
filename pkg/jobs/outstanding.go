package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Outstanding reports whether a job is running or may still be delivered, i.e. its message is in JOBS and may be
// unacknowledged. This isn't exact: the server only reports the position up to which all jobs are acknowledged, so
// acknowledged jobs after that position are included too.
func (b *Broker) Outstanding(ctx context.Context, job domain.Job) (bool, error) {
	if err := checkJob(job); err != nil {
		return false, err
	}
	msg, err := b.leader(StreamJobs).Last(ctx, jobSubject(job.Lane(), job.DatastoreID, job.DatasourceID))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking up job %s: %w", job.ID, err)
	}
	last, err := decodeJob(msg.Subject, msg.Data)
	if err != nil || last.ID != job.ID {
		return false, nil // a newer job has replaced it
	}
	info, err := b.consumerInfo(ctx, job.Lane())
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return true, nil // no worker for the lane has ever started
	}
	if err != nil {
		return false, fmt.Errorf("looking up the workers of %s jobs: %w", job.Lane(), err)
	}
	return msg.Sequence > info.AckFloor.Stream && info.NumPending+uint64(info.NumAckPending) > 0, nil
}
