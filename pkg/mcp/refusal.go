package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
)

// maxRefusalBytes bounds what is read of a refusal.
const maxRefusalBytes = 64 << 10

// refusal is why the service did not take a message: its key, a limit, or its own state. The SDK's client knows no more of
// it than the status.
type refusal struct {
	status  int
	message string
	after   string // Retry-After
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

// refusalOf returns the refusal that a response to a message is, nil when it is none. Of a refusal the body is read and
// closed.
func refusalOf(res *http.Response) error {
	if res.StatusCode < http.StatusBadRequest {
		return nil
	}
	defer func() { _ = res.Body.Close() }() // it has been read
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	raw, err := bounded.ReadAll(res.Body, maxRefusalBytes)
	if err == nil && json.Unmarshal(raw, &body) != nil {
		body.Error.Message = "" // of something before the service, in a form of its own
	}
	return &refusal{status: res.StatusCode, message: strings.TrimSpace(body.Error.Message), after: res.Header.Get("Retry-After")}
}
