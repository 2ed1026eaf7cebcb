package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Exit is a command's exit code.
type Exit int

// Exit codes. Scripts rely on them, so never change what they mean.
const (
	OK          Exit = 0
	Failed      Exit = 1   // the operation failed
	Misused     Exit = 2   // invalid arguments
	Forbidden   Exit = 3   // no key, or the key lacks the permission
	Partly      Exit = 4   // the operation succeeded, but some documents failed
	NotFound    Exit = 5   // the specified object does not exist
	Damaged     Exit = 6   // stored data is damaged
	Unavailable Exit = 7   // the service cannot be reached or is overloaded
	Stopped     Exit = 130 // interrupted with Ctrl-C
)

// exits lists the exit codes with their names and meanings, for the JSON output and the reference.
var exits = []struct {
	exit       Exit
	code, text string
}{
	{OK, "ok", "success"},
	{Failed, "failed", "the operation failed; the message says why"},
	{Misused, "usage", "incorrect usage: an unknown command or flag, a missing argument, an invalid setting"},
	{Forbidden, "forbidden", "the API key is missing or invalid, or lacks a permission"},
	{Partly, "partly", "partial success: some documents failed and are listed with their errors"},
	{NotFound, "not_found", "something named in the command, such as a datastore, does not exist"},
	{Damaged, "damaged", "stored data is damaged and could not be repaired completely"},
	{Unavailable, "unavailable", "the service cannot be reached or is overloaded; try again later"},
	{Stopped, "stopped", "stopped by Ctrl-C or SIGTERM; steps reported as done are kept"},
}

// Error is an error with an exit code.
type Error struct {
	Exit Exit
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the exit code.
func (e *Error) ExitCode() Exit { return e.Exit }

// WithExit adds an exit code to err. It returns nil if err is nil.
func WithExit(exit Exit, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Exit: exit, Err: err}
}

// Misusedf returns an error for invalid arguments.
func Misusedf(format string, args ...any) error {
	return WithExit(Misused, fmt.Errorf(format, args...))
}

// ExitOf returns the exit code for err.
func ExitOf(err error) Exit {
	if err == nil {
		return OK
	}
	var coded interface{ ExitCode() Exit }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	if errors.Is(err, context.Canceled) {
		return Stopped
	}
	switch domain.CodeOf(err) {
	case domain.CodeNotFound:
		return NotFound
	case domain.CodeUnauthorized:
		return Forbidden
	case domain.CodeUnavailable, domain.CodeRateLimit:
		return Unavailable
	default:
		return Failed
	}
}

// ExitOfStatus returns the exit code for one of the service's HTTP statuses.
func ExitOfStatus(status int) Exit {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Forbidden
	case http.StatusNotFound:
		return NotFound
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Unavailable
	default:
		return Failed
	}
}

// Report writes a command's error to errs, as a JSON object if asJSON is set and otherwise as a line of text.
func Report(errs io.Writer, program string, err error, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(errs, "%s: %s\n", program, Printable(err.Error()))
		return
	}
	exit := ExitOf(err)
	code := "failed"
	for _, e := range exits {
		if e.exit == exit {
			code = e.code
		}
	}
	_ = encoder(errs).Encode(map[string]any{"error": map[string]any{ // there is nowhere to report a failed write
		"code": code, "exit": exit, "message": err.Error(),
	}})
}

// Printable replaces control characters in untrusted text, which could manipulate the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}

func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
