package jobs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrTooLarge means that a job or event exceeds its stream's message size limit.
	ErrTooLarge = errors.New("jobs: message too large")
	// ErrFull means that a stream or its disk is full. No message was dropped to make space.
	ErrFull = errors.New("jobs: stream is full")
	// ErrInvalid means that a job or event has an invalid kind or id.
	ErrInvalid = errors.New("jobs: invalid job or event")
	// ErrRefused means that connecting will fail until this program's or the servers' settings are changed.
	ErrRefused = errors.New("jobs: connection refused")

	// ErrNewer means that a newer version of the program created the streams in a format this one does not know.
	ErrNewer = errors.New("jobs: the job log was written by a newer version of the program")
	// ErrForeign means that the NATS servers hold another catalog's jobs.
	ErrForeign = errors.New("jobs: these NATS servers hold the jobs of another catalog")

	// ErrUnavailable means that NATS did not respond, or that too few of its servers are up. It is temporary.
	ErrUnavailable = quorum.ErrUnavailable
	// ErrStreamLost means that a stream was deleted or lost. Broker.Repair recreates it.
	ErrStreamLost = quorum.ErrStreamLost
)

// Permanent marks an error that a retry cannot fix, for example an unreadable file or a deleted page. The job ends
// immediately with status error, and users see the error's message. Permanent returns nil if err is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err: err}
}

// IsPermanent reports whether err, or an error that it wraps, was marked by Permanent.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// RetryAfter marks a temporary error that lasts at least d, such as a rate limit with a stated delay. The job waits for
// d or for its usual backoff, whichever is longer. RetryAfter returns nil if err is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryError{after: d, err: err}
}

// Snooze marks the error of a run that couldn't start its work yet, for example because other crawlers are using the
// host. The job is redelivered after d, and the run doesn't count as an attempt. Snooze returns nil if err is nil.
func Snooze(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &snoozeError{after: d, err: err}
}

// Rescheduled marks a handler's error if a new job will do the work later. The current job is acknowledged although its
// work isn't done. err is the reason. Rescheduled returns nil if err is nil.
func Rescheduled(err error) error {
	if err == nil {
		return nil
	}
	return &rescheduledError{err: err}
}

// IsRescheduled reports whether err, or an error that it wraps, was marked by Rescheduled.
func IsRescheduled(err error) bool {
	var p *rescheduledError
	return errors.As(err, &p)
}

type rescheduledError struct{ err error }

func (e *rescheduledError) Error() string { return e.err.Error() }
func (e *rescheduledError) Unwrap() error { return e.err }

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type retryError struct {
	after time.Duration
	err   error
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

type snoozeError struct {
	after time.Duration
	err   error
}

func (e *snoozeError) Error() string { return e.err.Error() }
func (e *snoozeError) Unwrap() error { return e.err }

// panicError is a recovered handler panic. The stack is logged on recovery but not shown to users.
type panicError struct{ value any }

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error while processing this content: %v", e.value)
}

// Maximum length of the error text in an error event or dead letter, in bytes.
const maxMessageText = 2000

// messageFor returns the error message to show to users. If err's chain contains a domain.Error, it is that error's
// message (the first one's if there are several). Otherwise it is err's own message.
func messageFor(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*domain.Error](err); ok {
		text = e.Message
	}
	return clip(text)
}

// stageOf returns domain.StageUnreadable if the job failed because of its content, and "" otherwise.
func stageOf(err error) string {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Code == domain.CodeUnsupported {
		return domain.StageUnreadable
	}
	return ""
}

// clip shortens `text` to maxMessageText bytes of valid UTF-8.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxMessageText {
		return text
	}
	return bounded.Prefix(text, maxMessageText) + "…"
}
