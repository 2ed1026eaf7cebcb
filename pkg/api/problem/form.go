package problem

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Form is the format of an endpoint's errors, either this API's or another protocol's.
type Form int

// Error formats.
const (
	FormProblem Form = iota
	FormOpenAI
	FormRPC    // JSON-RPC, for the Model Context Protocol
	FormRerank // OpenAI's, with the message also where Cohere and Jina put it
	FormDify   // Dify's external knowledge API
)

// Paths used by other protocols, without the base path. They exist under every base path.
const (
	OpenAIPath = "/v1/" // path prefix for OpenAI's clients
	MCPPath    = "/mcp"

	RerankPath    = "/rerank" // path suffix for Cohere's and Jina's clients
	RetrievalPath = "/retrieval"
)

// FormOf returns the error format that the path's clients expect, whether or not the endpoint exists.
func FormOf(path string) Form {
	path = strings.TrimPrefix(path, "/api")
	switch {
	case path == MCPPath:
		return FormRPC
	case path == "/v1"+RerankPath || path == "/v2"+RerankPath:
		return FormRerank
	case path == RetrievalPath:
		return FormDify
	case strings.HasPrefix(path, OpenAIPath):
		return FormOpenAI
	default:
		return FormProblem
	}
}

// IsTika reports whether the path belongs to Apache Tika's API.
func IsTika(path string) bool {
	path = strings.TrimPrefix(path, "/api")
	return path == "/tika" || path == "/rmeta" || path == "/version" || strings.HasPrefix(path, "/tika/") || strings.HasPrefix(path, "/rmeta/")
}

// Write sends an error returned by Explain. `instance` is the request's id.
func Write(w http.ResponseWriter, form Form, instance string, e *domain.Error) {
	switch form {
	case FormOpenAI:
		writeOpenAI(w, e)
	case FormRPC:
		writeRPC(w, e)
	case FormRerank:
		writeRerank(w, e)
	case FormDify:
		writeDify(w, e)
	default:
		writeProblem(w, instance, e)
	}
}

// Refuse sends an error for a handler outside the API.
func Refuse(w http.ResponseWriter, code domain.Code, detail string) {
	writeProblem(w, "", &domain.Error{Code: code, Message: detail})
}

// statusFor returns an error's status for clients of other protocols: 401 for a missing or invalid key, and 403 for a
// valid key without permission. This API uses 403 in all of these cases.
func statusFor(e *domain.Error) int {
	if e.Code == domain.CodeUnauthorized && !errors.Is(e, ErrForbidden) {
		return http.StatusUnauthorized
	}
	return statuses[e.Code].status
}

// ModelField is the chat completion field that names the agent.
const ModelField = "model"

// OpenAIError is the body of an error in OpenAI's format, as defined in the OpenAPI document.
type OpenAIError struct {
	Error struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
		Type    string  `json:"type"`
	} `json:"error"`
}

// writeOpenAI sends an error with the HTTP status that makes OpenAI's clients raise the matching exception. A usage
// limit keeps this API's 402, because clients would retry after a 429.
func writeOpenAI(w http.ResponseWriter, e *domain.Error) {
	body := OpenAI(e)
	if body.Error.Type == openAIAuthentication {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	write(w, "application/json", statusFor(e), body)
}

// OpenAI converts an error to OpenAI's format. The message lists all faults, because clients show nothing else. `param`
// is the first invalid field.
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

// OpenAI's error types.
const (
	openAIAuthentication = "authentication_error"
	openAIInvalid        = "invalid_request_error"
)

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
	case domain.CodeInvalid:
		if errors.Is(e, ErrNoPreviousResponse) {
			return openAIInvalid, "previous_response_not_found"
		}
		return openAIInvalid, strings.ToLower(string(e.Code))
	case domain.CodeUnavailable, domain.CodeInternal:
		return "server_error", strings.ToLower(string(e.Code))
	default:
		return openAIInvalid, strings.ToLower(string(e.Code))
	}
}

// writeRerank sends an error to a rerank client. Cohere's clients read `message`, Jina's `detail`.
func writeRerank(w http.ResponseWriter, e *domain.Error) {
	body := OpenAI(e)
	if body.Error.Type == openAIAuthentication {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	write(w, "application/json", statusFor(e), struct {
		OpenAIError
		Message string `json:"message"`
		Detail  string `json:"detail"`
	}{body, body.Error.Message, body.Error.Message})
}

// Dify's error codes. All other errors use their HTTP status as the code.
const (
	difyNoKey        = 1001 // no key, or not formatted as Bearer <key>
	difyUnauthorized = 1002
	difyNoKnowledge  = 2001 // no datastore with this id
)

// writeDify sends an error to Dify. Dify shows the message to users and recognises an invalid key by status 403.
func writeDify(w http.ResponseWriter, e *domain.Error) {
	status := statuses[e.Code].status
	code := status
	switch {
	case errors.Is(e, ErrNoKey):
		code = difyNoKey
	case e.Code == domain.CodeUnauthorized:
		code = difyUnauthorized
	case e.Code == domain.CodeNotFound:
		code = difyNoKnowledge
	}
	write(w, "application/json", status, map[string]any{"error_code": code, "error_msg": OpenAI(e).Error.Message})
}

// writeRPC sends an error as a JSON-RPC message. MCP clients expect HTTP status 401 for a missing key, and 403 for a
// key without permission.
func writeRPC(w http.ResponseWriter, e *domain.Error) {
	status, code := statusFor(e), int64(-32000) // the first code JSON-RPC reserves for server errors
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.Code == domain.CodeInvalid || e.Code == domain.CodeTooLarge || e.Code == domain.CodeUnsupported {
		code = -32600 // "Invalid Request" in JSON-RPC
	}
	write(w, "application/json", status, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": e.Message}})
}
