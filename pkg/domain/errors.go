package domain

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Code classifies an Error. The API maps each code to an HTTP status.
type Code string

// Codes, each with its HTTP status in the API.
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

// FieldError is an error in one field of a request: the field's path ("documents[3].text") and a message.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is the application's error type. Code determines how it is handled, Message is for users, and Fields lists
// everything wrong with an invalid request. Callers see Message but never the wrapped Err.
type Error struct {
	Code       Code
	Message    string
	Fields     []FieldError
	RetryAfter time.Duration // for CodeRateLimit, CodeUnavailable and a temporary CodeConflict; 0 lets the API choose
	Err        error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

// Unwrap returns the cause, which is logged but not shown to callers.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a code and a message for the caller.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Transient wraps err in a CodeUnavailable error with this message. Use it for errors from engines, which are temporary
// unless their code says otherwise. It returns err unchanged if it is nil, already has a code, or is context.Canceled.
func Transient(err error, message string) error {
	if _, ok := errors.AsType[*Error](err); err == nil || ok || errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Code: CodeUnavailable, Message: message, Err: err}
}

// Invalid returns a CodeInvalid error for one field.
func Invalid(field, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Code: CodeInvalid, Message: field + ": " + msg, Fields: []FieldError{{Field: field, Message: msg}}}
}

// NotFound returns a CodeNotFound error. Use it for resources in other workspaces as well.
func NotFound(kind, id string) *Error {
	return Errorf(CodeNotFound, "no %s with id %q", kind, id)
}

// CodeOf returns the code of the first Error in err's chain, CodeInternal if there is none, or "" if err is nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
