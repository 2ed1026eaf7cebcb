package extract

import "github.com/sluice/sluice/pkg/extract/format"

// Error means that a document cannot be read, and retrying would not help.
type Error = format.Error

// Kind is the reason why a document cannot be read. Every kind is permanent, so a retry would not help.
type Kind = format.Kind

// Passage is a passage from a document's text to be located on its pages.
type Passage = format.Passage

// Limits bounds the resources for reading one document and the size of the result.
type Limits = format.Limits

// The kinds of failure.
const (
	Unsupported = format.Unsupported
	Encrypted   = format.Encrypted
	NoText      = format.NoText
	Damaged     = format.Damaged
	TooLarge    = format.TooLarge
	Resources   = format.Resources
	NoPage      = format.NoPage
	Archive     = format.Archive
	Scanned     = format.Scanned
)

// KindOf returns the kind of the first *Error in err's chain, or "" if there is none. An error without a kind may be
// temporary: a child process failed to start, for example.
func KindOf(err error) Kind { return format.KindOf(err) }

// DefaultLimits returns the limits that apply if the caller sets none.
func DefaultLimits() Limits { return format.DefaultLimits() }
