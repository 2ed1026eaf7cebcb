package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
)

// Maximum size of a refusal's body in bytes.
const maxRefusalBytes = 64 << 10

// refusal is the service's error for a message it rejected, for example because of the key or a limit. The SDK's client
// would report only the status.
type refusal struct {
	status  int
	message string
	after   string // value of the Retry-After header
}

// Error implements error.
func (r *refusal) Error() string {
	text := r.message
	if text == "" {
		text = http.StatusText(r.status)
	}
	if r.after != "" {
		text += "; try again in " + r.after + " s"
	}
	return fmt.Sprintf("%s (%d)", text, r.status)
}

// refusalOf returns the refusal in a response and reads and closes the body. For a success, it returns nil and leaves
// the body untouched.
func refusalOf(res *http.Response) error {
	if res.StatusCode < http.StatusBadRequest {
		return nil
	}
	defer func() { _ = res.Body.Close() }() // the body has been read
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	raw, err := bounded.ReadAll(res.Body, maxRefusalBytes)
	if err == nil && json.Unmarshal(raw, &body) != nil {
		body.Error.Message = "" // an error from a proxy, in another format
	}
	return &refusal{status: res.StatusCode, message: strings.TrimSpace(body.Error.Message), after: res.Header.Get("Retry-After")}
}
