package embed

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Kind says what an Error means for whoever wants the vectors.
type Kind int

// The kinds.
const (
	Transient   Kind = iota // the server failed or was busy: the same call can succeed later
	Unavailable             // the server could not be reached, or did not answer in time: likewise
	Permanent               // the server refused: the same call fails until the configuration or the model changes
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Permanent:
		return "permanent"
	case Unavailable:
		return "unavailable"
	default:
		return "transient"
	}
}

// Error is why a model made no vectors. In its chain there is also a domain.Error of code UNAVAILABLE for callers of
// the API, with the time to wait and without the cause.
type Error struct {
	Kind       Kind
	Model      string        // the model's ID
	Status     int           // the HTTP status; 0 if there was no answer
	Message    string        // what the provider said, or what is wrong with its answer; never holds the key
	RetryAfter time.Duration // how long the provider asks to wait; 0 if it does not say
	Err        error         // the cause, may be nil
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("embedding model %q: %s", e.Model, e.Message)
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause and what callers of the API are told.
func (e *Error) Unwrap() []error {
	told := domain.Errorf(domain.CodeUnavailable, "the embedding model %q cannot be used now; try again later", e.Model)
	if e.Kind == Permanent {
		told = domain.Errorf(domain.CodeUnavailable,
			"the embedding model %q refuses requests; its settings need the operator's attention", e.Model)
	}
	told.RetryAfter = e.RetryAfter
	if e.Err == nil {
		return []error{told}
	}
	return []error{e.Err, told}
}

// IsPermanent reports whether err is an embedding failure that trying again cannot mend.
func IsPermanent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Permanent
}
