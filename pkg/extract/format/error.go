package format

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is the reason why a document cannot be read. Every kind is permanent, so a retry would not help.
type Kind string

// The kinds of failure.
const (
	Unsupported Kind = "unsupported" // no parser for this format
	Encrypted   Kind = "encrypted"   // a password is needed
	NoText      Kind = "no_text"     // the document can be read but has no text
	Damaged     Kind = "damaged"     // the bytes violate the format
	TooLarge    Kind = "too_large"   // the document exceeds a limit on size, entries, cells or text
	Resources   Kind = "resources"   // reading took too much memory or time
	NoPage      Kind = "no_page"     // the document has no page with the requested number
	Archive     Kind = "archive"     // the file is a ZIP archive of files, not a document
	Scanned     Kind = "scanned"     // Error.Pages need text recognition first; see Scans.Report
)

// Error means that a document cannot be read, and retrying would not help. Message is one line for the person who
// uploaded it. Err is the parser's error, for logs.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Err     error  `json:"-"` // the cause; may be nil
	Pages   []int  `json:"-"` // page numbers, from 1, if Kind is Scanned
}

// Error returns the message and the cause. Show only Message to users.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's chain, or "" if there is none. An error without a kind may be
// temporary: a child process failed to start, for example.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// Errorf returns an error with a message for the person who uploaded the document.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// NotA returns the error for a file that claims to be in a format but isn't readable as such. `err` is the parser's
// error.
func NotA(format string, err error) *Error {
	article := "a "
	if strings.ContainsRune("aeiouAEIOU", rune(format[0])) {
		article = "an "
	}
	return &Error{Kind: Damaged, Message: "the file is damaged or not " + article + format, Err: err}
}

// SizeText formats a byte count for display: "1.5 GiB", "64 MiB", "900 bytes".
func SizeText(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			if n%u.size == 0 {
				return fmt.Sprintf("%d %s", n/u.size, u.name)
			}
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
