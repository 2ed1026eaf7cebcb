package problem

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Form is how the errors of an endpoint are written: the interface's, or what the clients of another protocol read.
type Form int

// The forms.
const (
	FormProblem Form = iota
	FormOpenAI
	FormRPC // JSON-RPC's, of the Model Context Protocol
)

// Paths of other protocols, under every base.
const (
	OpenAIPath = "/v1/" // prefix of the paths that OpenAI's clients call
	MCPPath    = "/mcp"
)

// FormOf returns the form that clients expect which call the path, whether there is such an endpoint or not.
func FormOf(path string) Form {
	path = strings.TrimPrefix(path, "/api")
	switch {
	case path == MCPPath:
		return FormRPC
	case strings.HasPrefix(path, OpenAIPath):
		return FormOpenAI
	default:
		return FormProblem
	}
}

// Write answers with an error that Explain has returned. The instance is the request's id.
func Write(w http.ResponseWriter, form Form, instance string, e *domain.Error) {
	switch form {
	case FormOpenAI:
		writeOpenAI(w, e)
	case FormRPC:
		writeRPC(w, e)
	default:
		writeProblem(w, instance, e)
	}
}

// Refuse answers a request to a handler outside of the API.
func Refuse(w http.ResponseWriter, code domain.Code, detail string) {
	writeProblem(w, "", &domain.Error{Code: code, Message: detail})
}

// statusFor is the status of an error for clients of other protocols: 401 for a missing or invalid key and 403 for one that
// may not, where the interface answers 403 to both.
func statusFor(e *domain.Error) int {
	if e.Code == domain.CodeUnauthorized && !errors.Is(e, ErrForbidden) {
		return http.StatusUnauthorized
	}
	return statuses[e.Code].status
}

// ModelField is the field in which a chat completion names its agent.
const ModelField = "model"

// OpenAIError is the body of an error as OpenAI's clients read it, as the OpenAPI document has it.
type OpenAIError struct {
	Error struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
		Type    string  `json:"type"`
	} `json:"error"`
}

// writeOpenAI writes an error with the status that OpenAI's clients turn into the right exception. A usage limit that is
// reached is 402 as everywhere: at 429 clients would ask again.
func writeOpenAI(w http.ResponseWriter, e *domain.Error) {
	body := OpenAI(e)
	if body.Error.Type == openAIAuthentication {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	write(w, "application/json", statusFor(e), body)
}

// OpenAI puts every fault into the message, because clients show nothing else, and the first field into param.
func OpenAI(e *domain.Error) OpenAIError {
	const shown = 10
	var out OpenAIError
	out.Error.Message = e.Message
	out.Error.Type, out.Error.Code = openAIKind(e)
	if len(e.Fields) == 0 {
		return out
	}
	out.Error.Param = &e.Fields[0].Field
	said := make([]string, 0, shown+1)
	for i, f := range e.Fields {
		if i == shown {
			said = append(said, fmt.Sprintf("and %d more", len(e.Fields)-shown))
			break
		}
		said = append(said, f.Field+": "+f.Message)
	}
	out.Error.Message = strings.Join(said, "; ")
	return out
}

// Types of errors of OpenAI.
const (
	openAIAuthentication = "authentication_error"
	openAIInvalid        = "invalid_request_error"
)

// openAIKind is the type and code that OpenAI gives to such an error.
func openAIKind(e *domain.Error) (kind, code string) {
	switch e.Code {
	case domain.CodeUnauthorized:
		if errors.Is(e, ErrForbidden) {
			return "permission_error", "insufficient_permissions"
		}
		return openAIAuthentication, "invalid_api_key"
	case domain.CodeUsageLimit:
		return "insufficient_quota", "insufficient_quota"
	case domain.CodeRateLimit:
		return "rate_limit_error", "rate_limit_exceeded"
	case domain.CodeNotFound:
		if len(e.Fields) > 0 && e.Fields[0].Field == ModelField {
			return openAIInvalid, "model_not_found"
		}
		return openAIInvalid, "not_found"
	case domain.CodeUnavailable, domain.CodeInternal:
		return "server_error", strings.ToLower(string(e.Code))
	default:
		return openAIInvalid, strings.ToLower(string(e.Code))
	}
}

// writeRPC writes an error as a message of JSON-RPC. The status tells a missing key from one that may not, which
// clients of the protocol expect.
func writeRPC(w http.ResponseWriter, e *domain.Error) {
	status, code := statusFor(e), int64(-32000) // the first of those that JSON-RPC leaves to servers
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.Code == domain.CodeInvalid || e.Code == domain.CodeTooLarge || e.Code == domain.CodeUnsupported {
		code = -32600 // not a request that can be answered
	}
	write(w, "application/json", status, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": e.Message}})
}
