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

// Exit is how a command ended, as the shell sees it.
type Exit int

// The exit codes. Scripts rely on them: a code never changes its meaning.
const (
	OK          Exit = 0
	Failed      Exit = 1   // it could not be done
	Misused     Exit = 2   // the command was called wrongly
	Forbidden   Exit = 3   // no key, or one that may not do it
	Partly      Exit = 4   // it was done, but some of the documents failed
	NotFound    Exit = 5   // what was named is not there
	Damaged     Exit = 6   // what was kept is damaged
	Unavailable Exit = 7   // the service cannot be reached, or has too much to do
	Stopped     Exit = 130 // somebody stopped it with Ctrl-C
)

// exits name the exit codes, for machines and for the reference.
var exits = []struct {
	exit       Exit
	code, text string
}{
	{OK, "ok", "it was done"},
	{Failed, "failed", "it could not be done; the message says why"},
	{Misused, "usage", "the command was called wrongly: an unknown command or flag, a missing argument, a setting that is none"},
	{Forbidden, "forbidden", "there is no API key, it is not valid, or it may not do this"},
	{Partly, "partly", "it was done, but some documents failed; each is named with the reason"},
	{NotFound, "not_found", "what was named, a datastore say, is not there"},
	{Damaged, "damaged", "what was kept is damaged, and not all of it could be mended"},
	{Unavailable, "unavailable", "the service cannot be reached, or has too much to do; later it may work"},
	{Stopped, "stopped", "Ctrl-C or SIGTERM stopped the command; what it says it has done is done"},
}

// Error is an error that decides how the command ends.
type Error struct {
	Exit Exit
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode says how the command ends.
func (e *Error) ExitCode() Exit { return e.Exit }

// WithExit has the command end so because of err, unless it is nil.
func WithExit(exit Exit, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Exit: exit, Err: err}
}

// Misusedf is a fault of how the command was called.
func Misusedf(format string, args ...any) error {
	return WithExit(Misused, fmt.Errorf(format, args...))
}

// ExitOf says how a command that returned err ends.
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

// ExitOfStatus says how a command ends that the service answered so.
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

// Report writes to errs why a command did not do what it was to, for people as a line, for machines as a JSON object.
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
	_ = encoder(errs).Encode(map[string]any{"error": map[string]any{ // there is nowhere else to say that it could not be said
		"code": code, "exit": exit, "message": err.Error(),
	}})
}

// Printable keeps what others wrote from steering the terminal.
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
