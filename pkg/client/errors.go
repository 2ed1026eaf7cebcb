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

// The codes of errors, as the service names them.
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

// Error is an answer of the service that is no success.
type Error struct {
	Status     int           // of HTTP; 200 when a stream had opened already
	Code       ProblemError  // CodeNotFound and so on; "" when what answered was no Sluice, or a stream broke off
	Message    string        // what is wrong and the way out
	Fields     []FieldError  // every fault of the request
	RetryAfter time.Duration // when to try again; 0 when it is not said
	RequestID  string        // under which the service's log has it
}

// Error says what is wrong, every faulty field by name.
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

// Field is the first field that is wrong, or "".
func (e *Error) Field() string {
	if len(e.Fields) == 0 {
		return ""
	}
	return e.Fields[0].Field
}

// CodeOf is the code of an [*Error] anywhere in err, or "".
func CodeOf(err error) ProblemError {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// errorOf reads an answer that is no success, in the service's form, OpenAI's, or whatever a proxy says.
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

// codesByStatus are the codes of answers in OpenAI's form, which has others.
var codesByStatus = map[int]ProblemError{
	http.StatusBadRequest: CodeInvalid, http.StatusUnauthorized: CodeUnauthorized, http.StatusPaymentRequired: CodeUsageLimit,
	http.StatusForbidden: CodeUnauthorized, http.StatusNotFound: CodeNotFound, http.StatusRequestEntityTooLarge: CodeTooLarge,
	http.StatusTooManyRequests: CodeRateLimit, http.StatusInternalServerError: CodeInternal, http.StatusServiceUnavailable: CodeUnavailable,
}

// retryAfter reads the header in either of its forms (RFC 9110, section 10.2.3).
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

// shortened is the beginning of what something that is no Sluice has answered.
func shortened(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
