package domain

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Code says what kind of failure an Error is. The API maps each code to one HTTP status.
type Code string

// The codes, with the HTTP status that the API answers.
const (
	CodeInvalid      Code = "INVALID_REQUEST"  // 400
	CodeUsageLimit   Code = "USAGE_LIMIT"      // 402
	CodeUnauthorized Code = "UNAUTHORIZED"     // 403
	CodeNotFound     Code = "NOT_FOUND"        // 404
	CodeConflict     Code = "CONFLICT"         // 409
	CodeTooLarge     Code = "TOO_LARGE"        // 413
	CodeUnsupported  Code = "UNSUPPORTED_TYPE" // 415
	CodeRateLimit    Code = "RATE_LIMIT"       // 429
	CodeUnavailable  Code = "UNAVAILABLE"      // 503
	CodeInternal     Code = "INTERNAL"         // 500
)

// FieldError names one fault of a request: the field as a path ("documents[3].text") and what is wrong with it.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is the application's one error: a code that decides what happens next, a message for people, and, for
// invalid requests, every fault found. Message is shown to callers; the wrapped Err never is.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError
	RetryAfter time.Duration // for CodeRateLimit, CodeUnavailable and a CodeConflict that passes; 0 leaves it to the API
	Err        error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

// Unwrap returns the cause, which is logged and not shown.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of the given code whose message is shown to the caller.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Passing returns err as a CodeUnavailable fault with the message, unless it is nil, has a code, or says that the caller has left. It is
// for engines whose faults pass by themselves.
func Passing(err error, message string) error {
	var known *Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Code: CodeUnavailable, Message: message, Err: err}
}

// Invalid makes a CodeInvalid error that names one field.
func Invalid(field, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Code: CodeInvalid, Message: field + ": " + msg, Fields: []FieldError{{Field: field, Message: msg}}}
}

// NotFound makes a CodeNotFound error, also used for what exists in another workspace.
func NotFound(kind, id string) *Error {
	return Errorf(CodeNotFound, "no %s with id %q", kind, id)
}

// CodeOf returns the code of the first Error in err's chain, CodeInternal for any other error, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
