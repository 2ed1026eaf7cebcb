package openai

import (
	"fmt"

	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// Faults collects the faults in a request. The zero value is ready for use.
type Faults struct{ all []domain.FieldError }

// Add adds a fault in a field.
func (f *Faults) Add(field, format string, args ...any) {
	f.all = append(f.all, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Append adds faults found elsewhere.
func (f *Faults) Append(faults ...domain.FieldError) { f.all = append(f.all, faults...) }

// Err returns all faults as one error, or nil if there are none.
func (f *Faults) Err() error { return problem.Invalid(f.all) }
