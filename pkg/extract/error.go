package extract

import "github.com/sluice/sluice/pkg/extract/format"

// Error is the permanent failure of one document.
type Error = format.Error

// Kind says why a document cannot be read. Trying again mends none of the kinds.
type Kind = format.Kind

// Limits bound what reading one document may use or produce.
type Limits = format.Limits

// The kinds of failure.
const (
	Unsupported = format.Unsupported
	Encrypted   = format.Encrypted
	NoText      = format.NoText
	Damaged     = format.Damaged
	TooLarge    = format.TooLarge
	Resources   = format.Resources
)

// KindOf returns the kind of the first *Error in err's chain, or "" when there is none: a failure of the machinery,
// which may succeed later.
func KindOf(err error) Kind { return format.KindOf(err) }

// DefaultLimits are those that hold where a caller sets none.
func DefaultLimits() Limits { return format.DefaultLimits() }
