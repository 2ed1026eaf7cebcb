package jobs

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Errors to be tested with errors.Is.
var (
	// ErrTooLarge says that a job or event is larger than its stream takes.
	ErrTooLarge = errors.New("jobs: message too large")
	// ErrFull says that a stream or the disk behind it takes no more. Nothing was dropped to make room.
	ErrFull = errors.New("jobs: stream is full")
	// ErrInvalid says that a job or event lacks what its subject is made of.
	ErrInvalid = errors.New("jobs: invalid job or event")
	// ErrSuperseded says that a newer job for the same datasource exists.
	ErrSuperseded = errors.New("jobs: superseded by a newer job")
	// ErrNotFound says that there is no such dead letter.
	ErrNotFound = errors.New("jobs: not found")
	// ErrRefused says that a connection cannot come about until somebody changes settings, here or at the servers.
	ErrRefused = errors.New("jobs: connection refused")

	// ErrNewer says that the streams were made by a newer version of the program, in a format that this one does not know.
	ErrNewer = errors.New("jobs: the job log was written by a newer version of the program")
	// ErrForeign says that the NATS servers hold the jobs of another catalog.
	ErrForeign = errors.New("jobs: these NATS servers hold the jobs of another catalog")

	// ErrUnavailable says that NATS did not answer, or that too few of its servers are up. It passes by itself.
	ErrUnavailable = quorum.ErrUnavailable
	// ErrStreamLost says that a stream is gone although it was made. Broker.Repair makes it again.
	ErrStreamLost = quorum.ErrStreamLost
	// ErrReplicas says that more replicas are asked for than the cluster has servers.
	ErrReplicas = quorum.ErrReplicas
)

// Permanent marks an error that retrying cannot mend: an unreadable file, a page that is gone. The job ends at once
// with status error, and people read the error's message. A nil err gives nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err: err}
}

// IsPermanent reports whether retrying cannot mend err, as Permanent has marked it or what it wraps.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// RetryAfter marks an error that passes by itself, not before d has gone by: a rate limit, a server that names its
// own delay. The job waits for d or for its usual growing delay, whichever is longer. A nil err gives nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryError{after: d, err: err}
}

// Later marks a run that could not begin because it is not the job's turn: a host that is being asked by others. The job
// comes back after d, and that counts as nothing. A nil err gives nil.
func Later(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &laterError{after: d, err: err}
}

// PutOff marks a run that has seen to it that the job comes again as another one, later: this one has ended, and what it
// was for is not done. It is acknowledged, and err is why. A nil err gives nil.
func PutOff(err error) error {
	if err == nil {
		return nil
	}
	return &putOffError{err: err}
}

// IsPutOff reports whether err is that of a run which PutOff has marked.
func IsPutOff(err error) bool {
	var p *putOffError
	return errors.As(err, &p)
}

type putOffError struct{ err error }

func (e *putOffError) Error() string { return e.err.Error() }
func (e *putOffError) Unwrap() error { return e.err }

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type retryError struct {
	after time.Duration
	err   error
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

type laterError struct {
	after time.Duration
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// panicError is what a recovered panic of a handler becomes. The stack is logged where it is recovered; people see
// none.
type panicError struct{ value any }

func (e *panicError) Error() string {
	return fmt.Sprintf("the program failed while working on it: %v", e.value)
}

// maxMessageText bounds what an error event and a dead letter quote, in bytes.
const maxMessageText = 2000

// messageFor returns the words for people: those of the first domain.Error in the chain, else the error's own text.
func messageFor(err error) string {
	text := err.Error()
	var e *domain.Error
	if errors.As(err, &e) {
		text = e.Message
	}
	return clip(text)
}

// stageOf is domain.StageUnreadable when it is the content that a job has failed by, else "".
func stageOf(err error) string {
	var e *domain.Error
	if errors.As(err, &e) && e.Code == domain.CodeUnsupported {
		return domain.StageUnreadable
	}
	return ""
}

// clip cuts text to maxMessageText bytes of valid UTF-8.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxMessageText {
		return text
	}
	cut := maxMessageText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
