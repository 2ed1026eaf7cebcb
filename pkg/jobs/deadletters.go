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

// DeadLetter is a job that was given up.
type DeadLetter struct {
	Sequence   uint64         `json:"-"`             // of the dead letter itself: what ReplayDeadLetter and DeleteDeadLetter take
	Kind       domain.JobKind `json:"kind"`          // from the subject, valid even if the job is not
	Generation uint64         `json:"generation"`    // of the job
	Job        *domain.Job    `json:"job,omitempty"` // nil when the message was not a job
	Raw        []byte         `json:"raw,omitempty"` // the message, when it was not a job
	Error      string         `json:"error"`         // why, for people
	Failures   int            `json:"failures"`      // runs that ended with an error
	Crashes    int            `json:"crashes"`       // runs whose worker died
	At         time.Time      `json:"at"`
}

// bury stores a dead letter. Doing it again within the duplicate window changes nothing.
func (b *Broker) bury(ctx context.Context, to target, dl DeadLetter) error {
	data, err := encode(dl)
	if err != nil {
		return fmt.Errorf("encoding dead letter of generation %d: %w", dl.Generation, err)
	}
	msg := &nats.Msg{Subject: deadLetterSubject(dl.Kind, to.datastoreID, to.datasourceID), Data: data, Header: nats.Header{}}
	id := string(dl.Kind) + "-" + strconv.FormatUint(dl.Generation, 10)
	if _, err := b.store(ctx, StreamDeadLetters, id, msg); err != nil {
		return fmt.Errorf("storing dead letter of generation %d: %w", dl.Generation, err)
	}
	return nil
}

// DeadLetters calls f for every dead letter of a datastore, oldest first, until f fails; an empty datastoreID means
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

// DeleteDeadLetter removes a dead letter. One that is not there is no error.
func (b *Broker) DeleteDeadLetter(ctx context.Context, sequence uint64) error {
	// The server answers "delete failed" for whatever reason, so a missing one has to be found out by looking.
	if _, err := b.DeadLetter(ctx, sequence); errors.Is(err, ErrNotFound) {
		return nil
	}
	err := b.do(ctx, func(ctx context.Context) error { return b.deadLetters.DeleteMsg(ctx, sequence) })
	if err != nil {
		return fmt.Errorf("deleting dead letter %d: %w", sequence, err)
	}
	return nil
}

// ReplayDeadLetter publishes the job of a dead letter again under its own id, with its counts at zero, and removes
// the dead letter. It returns the new generation. It fails with ErrNotFound if there is no such dead letter,
// ErrSuperseded if a newer job for the same datasource has been published since, and ErrInvalid if the message was
// never a job.
func (b *Broker) ReplayDeadLetter(ctx context.Context, sequence uint64) (uint64, error) {
	dl, err := b.DeadLetter(ctx, sequence)
	if err != nil {
		return 0, err
	}
	if dl.Job == nil {
		return 0, fmt.Errorf("dead letter %d holds no job: %w", sequence, ErrInvalid)
	}
	msg, err := jobMessage(*dl.Job)
	if err != nil {
		return 0, err
	}
	// The job's own id may still lie in the duplicate window, which would swallow the message; the dead letter's
	// sequence makes it new, and makes a repeated replay the same.
	id := dl.Job.ID + "-replay-" + strconv.FormatUint(sequence, 10)
	ack, err := b.store(ctx, StreamJobs, id, msg, jetstream.WithExpectLastSequencePerSubject(dl.Generation))
	if quorum.WrongSequence(err) {
		return 0, fmt.Errorf("replaying dead letter %d: %w", sequence, ErrSuperseded)
	}
	if err != nil {
		return 0, fmt.Errorf("replaying dead letter %d: %w", sequence, err)
	}
	b.saw(ack.Sequence)
	return ack.Sequence, b.DeleteDeadLetter(ctx, sequence)
}
