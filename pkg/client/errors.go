package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The service's error codes.
const (
	CodeInvalid          = ProblemErrorINVALIDREQUEST
	CodeUsageLimit       = ProblemErrorUSAGELIMIT
	CodeUnauthorized     = ProblemErrorUNAUTHORIZED
	CodeNotFound         = ProblemErrorNOTFOUND
	CodeMethodNotAllowed = ProblemErrorMETHODNOTALLOWED
	CodeConflict         = ProblemErrorCONFLICT
	CodeTooLarge         = ProblemErrorTOOLARGE
	CodeUnsupportedType  = ProblemErrorUNSUPPORTEDTYPE
	CodeRateLimit        = ProblemErrorRATELIMIT
	CodeUnavailable      = ProblemErrorUNAVAILABLE
	CodeInternal         = ProblemErrorINTERNAL
)

// Error is an error response from the service.
type Error struct {
	Status     int           // HTTP status; 200 if a stream had already started or if only part of a batch was rejected
	Code       ProblemError  // such as CodeNotFound; "" if another server responded or a stream was interrupted
	Message    string        // what is wrong and what to do
	Fields     []FieldError  // all invalid fields in the request
	RetryAfter time.Duration // time to wait before the next attempt; 0 if unknown
	RequestID  string        // the request's id in the service's log
}

// Error implements error. The message names every invalid field.
func (e *Error) Error() string {
	said := e.Message
	if len(e.Fields) > 1 {
		faults := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			faults[i] = f.Field + ": " + f.Message
		}
		said = strings.Join(faults, "; ")
	}
	if e.Code == "" {
		return fmt.Sprintf("the service answered %d: %s", e.Status, said)
	}
	return fmt.Sprintf("%s: %s", e.Code, said)
}

// Field returns the first invalid field, or "" if there is none.
func (e *Error) Field() string {
	if len(e.Fields) == 0 {
		return ""
	}
	return e.Fields[0].Field
}

// CodeOf returns the code of the [*Error] that err wraps, or "" if it wraps none.
func CodeOf(err error) ProblemError {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// errorOf decodes an error response from the service, an OpenAI-compatible API or a proxy.
func errorOf(resp *http.Response, body []byte) *Error {
	e := &Error{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header), RequestID: resp.Header.Get("X-Request-Id")}
	var problem Problem
	var openAI OpenAIError
	switch {
	case json.Unmarshal(body, &problem) == nil && problem.Error != "":
		e.Code, e.Message = problem.Error, problem.Detail
		if problem.Errors != nil {
			e.Fields = *problem.Errors
		}
	case json.Unmarshal(body, &openAI) == nil && openAI.Error.Message != "":
		e.Code, e.Message = codesByStatus[resp.StatusCode], openAI.Error.Message
		if p := openAI.Error.Param; p != nil {
			e.Fields = []FieldError{{Field: *p, Message: e.Message}}
		}
	default:
		e.Message = fmt.Sprintf("%s %q", http.StatusText(resp.StatusCode), shortened(string(body)))
	}
	return e
}

// codesByStatus maps HTTP statuses to the service's error codes. It is needed for errors in OpenAI's format, because
// they contain only OpenAI's own codes.
var codesByStatus = map[int]ProblemError{
	http.StatusBadRequest: CodeInvalid, http.StatusUnauthorized: CodeUnauthorized, http.StatusPaymentRequired: CodeUsageLimit,
	http.StatusForbidden: CodeUnauthorized, http.StatusNotFound: CodeNotFound, http.StatusRequestEntityTooLarge: CodeTooLarge,
	http.StatusTooManyRequests: CodeRateLimit, http.StatusInternalServerError: CodeInternal, http.StatusServiceUnavailable: CodeUnavailable,
}

// retryAfter parses both forms of the Retry-After header (RFC 9110, section 10.2.3).
func retryAfter(h http.Header) time.Duration {
	given := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(given, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(given); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// shortened returns the beginning of another server's response, which may be of any length.
func shortened(s string) string {
	const limit = 200
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
