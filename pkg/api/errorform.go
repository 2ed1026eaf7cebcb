package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// form is how the errors of an endpoint are written: the interface's, or what the clients of another protocol read.
type form int

const (
	formProblem form = iota
	formOpenAI
	formRPC // JSON-RPC's, of the Model Context Protocol
)

// openAIPath begins the paths that OpenAI's clients call.
const openAIPath = "/v1/"

// formOf is the form of the route's errors; of a path that is no route, that of the clients which would call it.
func formOf(c *gin.Context) form {
	if op := operationOf(c); op != nil {
		return op.errors
	}
	for _, base := range bases {
		if c.Request.URL.Path == base+mcpPath {
			return formRPC
		}
		if strings.HasPrefix(c.Request.URL.Path, base+openAIPath) {
			return formOpenAI
		}
	}
	return formProblem
}

// statusFor is the status of an error for clients of other protocols: 401 for a missing or invalid key and 403 for one that
// may not, where the interface answers 403 to both.
func statusFor(e *domain.Error) int {
	if e.Code == domain.CodeUnauthorized && !errors.Is(e, errForbidden) {
		return http.StatusUnauthorized
	}
	return statuses[e.Code].status
}

// writeOpenAIError writes an error as OpenAI does, with the status that its clients turn into the right exception. A usage
// limit that is reached is 402 as everywhere: at 429 clients would ask again.
func writeOpenAIError(w http.ResponseWriter, e *domain.Error) {
	kind, code := openAIKind(e)
	if kind == OpenAIErrorErrorTypeAuthenticationError {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	body, err := json.Marshal(openAIError(e.Message, kind, code, e.Fields))
	if err != nil { // strings always encode
		body = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusFor(e))
	_, _ = w.Write(body) // a client that left needs no answer
}

// openAIError puts every fault into the message, for clients show nothing else, and the first field into param.
func openAIError(message string, kind OpenAIErrorErrorType, code string, faults []domain.FieldError) OpenAIError {
	const shown = 10
	var out OpenAIError
	out.Error.Message, out.Error.Type, out.Error.Code = message, kind, code
	if len(faults) == 0 {
		return out
	}
	out.Error.Param = &faults[0].Field
	said := make([]string, 0, shown+1)
	for i, f := range faults {
		if i == shown {
			said = append(said, fmt.Sprintf("and %d more", len(faults)-shown))
			break
		}
		said = append(said, f.Field+": "+f.Message)
	}
	out.Error.Message = strings.Join(said, "; ")
	return out
}

// openAIKind is the type and code that OpenAI gives to such an error.
func openAIKind(e *domain.Error) (kind OpenAIErrorErrorType, code string) {
	switch e.Code {
	case domain.CodeUnauthorized:
		if errors.Is(e, errForbidden) {
			return OpenAIErrorErrorTypePermissionError, "insufficient_permissions"
		}
		return OpenAIErrorErrorTypeAuthenticationError, "invalid_api_key"
	case domain.CodeUsageLimit:
		return OpenAIErrorErrorTypeInsufficientQuota, "insufficient_quota"
	case domain.CodeRateLimit:
		return OpenAIErrorErrorTypeRateLimitError, "rate_limit_exceeded"
	case domain.CodeNotFound:
		if len(e.Fields) > 0 && e.Fields[0].Field == modelField {
			return OpenAIErrorErrorTypeInvalidRequestError, "model_not_found"
		}
		return OpenAIErrorErrorTypeInvalidRequestError, "not_found"
	case domain.CodeUnavailable, domain.CodeInternal:
		return OpenAIErrorErrorTypeServerError, strings.ToLower(string(e.Code))
	default:
		return OpenAIErrorErrorTypeInvalidRequestError, strings.ToLower(string(e.Code))
	}
}
