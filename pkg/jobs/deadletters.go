package jobs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice/sluice/pkg/domain"
)

// DeadLetter is an abandoned job.
type DeadLetter struct {
	Kind       domain.JobKind `json:"kind"`          // taken from the subject, so it is valid even if the job is not
	Generation uint64         `json:"generation"`    // the job's generation
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
		return fmt.Errorf("storing the dead letter for generation %d: %w", dl.Generation, err)
	}
	return nil
}
