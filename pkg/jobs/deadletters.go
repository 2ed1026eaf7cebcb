package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// DeadLetter is a job that the workers have abandoned.
type DeadLetter struct {
	Sequence   uint64         `json:"-"`             // number of the dead letter, for ReplayDeadLetter and DeleteDeadLetter
	Kind       domain.JobKind `json:"kind"`          // taken from the subject, so it is valid even if the job is not
	Generation uint64         `json:"generation"`    // generation of the job
	Job        *domain.Job    `json:"job,omitempty"` // nil if the message was not a job
	Raw        []byte         `json:"raw,omitempty"` // the message, if it was not a job
	Error      string         `json:"error"`         // reason, shown to users
	Failures   int            `json:"failures"`      // runs that ended with an error
	Crashes    int            `json:"crashes"`       // runs whose worker died
	At         time.Time      `json:"at"`
}

// storeDeadLetter stores a dead letter. Storing the same dead letter again within the duplicate window has no effect.
func (b *Broker) storeDeadLetter(ctx context.Context, to target, dl DeadLetter) error {
	data, err := encode(dl)
	if err != nil {
		return fmt.Errorf("encoding the dead letter of the job with generation %d: %w", dl.Generation, err)
	}
	msg := &nats.Msg{Subject: deadLetterSubject(dl.Kind, to.datastoreID, to.datasourceID), Data: data, Header: nats.Header{}}
	id := string(dl.Kind) + "-" + strconv.FormatUint(dl.Generation, 10)
	if _, err := b.store(ctx, StreamDeadLetters, id, msg); err != nil {
		return fmt.Errorf("storing dead letter of generation %d: %w", dl.Generation, err)
	}
	return nil
}

// DeadLetters calls f for every dead letter in a datastore, oldest first, until f fails. An empty datastoreID selects
// all datastores.
func (b *Broker) DeadLetters(ctx context.Context, datastoreID string, f func(DeadLetter) error) error {
	filter := prefixDeadLetters + ".*.*.*"
	if datastoreID != "" {
		if !domain.ValidID(datastoreID) {
			return fmt.Errorf("%w: datastore id %q", ErrInvalid, datastoreID)
		}
		filter = prefixDeadLetters + ".*." + datastoreID + ".*"
	}
	return b.scan(ctx, StreamDeadLetters, filter, func(msg *jetstream.RawStreamMsg) error {
		dl, err := decodeDeadLetter(msg.Subject, msg.Data, msg.Sequence)
		if err != nil {
			return err
		}
		return f(dl)
	})
}

// DeadLetter returns one dead letter, or ErrNotFound.
func (b *Broker) DeadLetter(ctx context.Context, sequence uint64) (DeadLetter, error) {
	msg, err := b.leader(StreamDeadLetters).At(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return DeadLetter{}, fmt.Errorf("dead letter %d: %w", sequence, ErrNotFound)
	}
	if err != nil {
		return DeadLetter{}, fmt.Errorf("reading dead letter %d: %w", sequence, err)
	}
	return decodeDeadLetter(msg.Subject, msg.Data, msg.Sequence)
}

func decodeDeadLetter(subject string, data []byte, sequence uint64) (DeadLetter, error) {
	var dl DeadLetter
	if err := json.Unmarshal(data, &dl); err != nil {
		return DeadLetter{}, fmt.Errorf("decoding dead letter %d (%s): %w", sequence, subject, err)
	}
	dl.Sequence = sequence
	if dl.Job != nil {
		dl.Job.Generation = dl.Generation
	}
	return dl, nil
}

// DeleteDeadLetter removes a dead letter. It returns nil if the dead letter does not exist.
func (b *Broker) DeleteDeadLetter(ctx context.Context, sequence uint64) error {
	// The server answers every failure with "delete failed", so check first whether the dead letter exists.
	if _, err := b.DeadLetter(ctx, sequence); errors.Is(err, ErrNotFound) {
		return nil
	}
	err := b.retry(ctx, func(ctx context.Context) error { return b.deadLetters.DeleteMsg(ctx, sequence) })
	if err != nil {
		return fmt.Errorf("deleting dead letter %d: %w", sequence, err)
	}
	return nil
}

// ReplayDeadLetter publishes the job in a dead letter again, deletes the dead letter, and returns the job's new
// generation. The job keeps its id, and its attempts are counted from zero. It fails with ErrNotFound if there is no
// such dead letter, with ErrSuperseded if a newer job for the same datasource exists, and with ErrInvalid if the
// message was not a job.
func (b *Broker) ReplayDeadLetter(ctx context.Context, sequence uint64) (uint64, error) {
	dl, err := b.DeadLetter(ctx, sequence)
	if err != nil {
		return 0, err
	}
	if dl.Job == nil {
		return 0, fmt.Errorf("dead letter %d contains no job: %w", sequence, ErrInvalid)
	}
	msg, err := jobMessage(*dl.Job)
	if err != nil {
		return 0, err
	}
	// Do not use the job's own id: if it is still in the duplicate window, the server drops the message. This id is
	// unique to the dead letter, so repeating the replay does not publish the job twice.
	id := dl.Job.ID + "-replay-" + strconv.FormatUint(sequence, 10)
	ack, err := b.store(ctx, StreamJobs, id, msg, jetstream.WithExpectLastSequencePerSubject(dl.Generation))
	if quorum.WrongSequence(err) {
		return 0, fmt.Errorf("replaying dead letter %d: %w", sequence, ErrSuperseded)
	}
	if err != nil {
		return 0, fmt.Errorf("replaying dead letter %d: %w", sequence, err)
	}
	b.sawGeneration(ack.Sequence)
	return ack.Sequence, b.DeleteDeadLetter(ctx, sequence)
}
