package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/modelhttp"
)

// Maximum number of bytes read from an error response's body.
const maxErrorBytes = 64 << 10

// sentInStream is the status used for an error sent as a stream event, which has no HTTP status.
const sentInStream = 0

// Status is an error response from a server.
type Status struct {
	HTTP    int    // 0 if the error arrived as an event in a stream
	Code    string // the error's code or, if it has none, its type
	Param   string // the invalid parameter, if the server names it
	Message string // message for the log
	After   time.Duration
	HasWait bool // whether the server said how long to wait (After)
}

// Error implements error.
func (s *Status) Error() string {
	text := "error in the stream"
	if s.HTTP != sentInStream {
		text = fmt.Sprintf("HTTP %d %s", s.HTTP, http.StatusText(s.HTTP))
	}
	if s.Code != "" {
		text += " " + s.Code
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	return text
}

// Post sends a request and returns the response, whose body the caller must close. It returns a *Status for an
// unsuccessful response, and ErrNoModel for a web page.
func Post(ctx context.Context, client *http.Client, address string, header http.Header, body any) (*http.Response, error) {
	res, err := modelhttp.Post(ctx, client, address, header, body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 {
		if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media != "text/html" {
			return res, nil
		}
		res.Body.Close()
		return nil, ErrNoModel
	}
	defer res.Body.Close()
	text, _ := bounded.ReadAll(res.Body, maxErrorBytes) // use as much as could be read
	s := ReadStatus(res.StatusCode, text)
	s.After, s.HasWait = modelhttp.RetryAfter(res.Header, time.Now())
	return nil, s
}

// ReadStatus parses an error's body. code is 0 for an error in a stream event. It supports the formats of OpenAI,
// Anthropic, Azure, vLLM, llama.cpp, Ollama and LiteLLM. For any other body, such as a proxy's HTML page, it uses the
// start of the body as the message.
func ReadStatus(code int, body []byte) *Status {
	type details struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Param   string `json:"param"`
		Message string `json:"message"`
	}
	var outer struct {
		details
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	s := &Status{HTTP: code}
	if json.Unmarshal(body, &outer) != nil {
		s.Message = truncateBody(body)
		return s
	}
	found := outer.details
	if json.Unmarshal(outer.Error, &found) != nil && json.Unmarshal(outer.Error, &found.Message) != nil && found.Message == "" {
		found.Message = truncateBody(append(outer.Error, outer.Detail...))
	}
	s.Param, s.Message = found.Param, found.Message
	if name, ok := found.Code.(string); ok {
		s.Code = name
	}
	if s.Code == "" {
		s.Code = found.Type
	}
	return s
}

// truncateBody returns the start of an unrecognised body for the log.
func truncateBody(body []byte) string {
	body = bytes.Join(bytes.Fields(body), []byte(" "))
	if len(body) > 300 {
		body = append(body[:300:300], "…"...)
	}
	return strings.ToValidUTF8(string(body), "")
}
