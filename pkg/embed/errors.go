package embed

import (
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Kind says whether a failed call is worth retrying.
type Kind int

// Kinds of failures.
const (
	Transient   Kind = iota // the server failed or was busy; a retry may succeed
	Unavailable             // the server was unreachable or timed out; a retry may succeed
	Permanent               // the server rejected the request; retries fail until the configuration or model changes
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

// Error is a failure of an embedding model. For API callers, its chain also contains a domain.Error with the code
// UNAVAILABLE, which says how long to wait but not what went wrong.
type Error struct {
	Kind       Kind
	Model      string        // the model's ID
	Status     int           // HTTP status; 0 if there was no response
	Message    string        // the provider's message, or what is wrong with its response; never contains the API key
	RetryAfter time.Duration // how long the provider asks to wait; 0 if it doesn't say
	Err        error         // cause; may be nil
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

// Unwrap returns the cause and the domain.Error for API callers.
func (e *Error) Unwrap() []error {
	told := domain.Errorf(domain.CodeUnavailable, "the embedding model %q is unavailable; try again later", e.Model)
	if e.Kind == Permanent {
		told = domain.Errorf(domain.CodeUnavailable,
			"the embedding model %q rejects requests; the operator must check its settings", e.Model)
	}
	told.RetryAfter = e.RetryAfter
	if e.Err == nil {
		return []error{told}
	}
	return []error{e.Err, told}
}
