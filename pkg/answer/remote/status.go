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

// maxErrorBytes is the number of bytes of an error's body that are read.
const maxErrorBytes = 64 << 10

// sentInStream stands for the status of an error that came as an event of a stream.
const sentInStream = 0

// Status is an answer that is none: an HTTP status that says so, with what can be made of its body.
type Status struct {
	HTTP    int    // 0 for an error that came as an event of a stream
	Code    string // what the server calls the failure: its error's code, else its type
	Param   string // the parameter at fault, where it names one
	Message string // for the log
	After   time.Duration
	HasWait bool // After is what the server asks for
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

// Post sends a request and returns the response, whose body the caller closes. It makes a Status of every response that is not a
// success, and ErrNoModel of a web page.
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
	text, _ := bounded.ReadAll(res.Body, maxErrorBytes) // what could be read has to do
	s := ReadStatus(res.StatusCode, text)
	s.After, s.HasWait = modelhttp.RetryAfter(res.Header, time.Now())
	return nil, s
}

// ReadStatus reads an error's body, code being 0 where it came as an event of a stream. It knows the forms of OpenAI,
// Anthropic, Azure, vLLM, llama.cpp, Ollama and LiteLLM; of a body that is none of these, such as a proxy's HTML page, it
// takes the beginning.
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
		s.Message = beginning(body)
		return s
	}
	found := outer.details
	if json.Unmarshal(outer.Error, &found) != nil && json.Unmarshal(outer.Error, &found.Message) != nil && found.Message == "" {
		found.Message = beginning(append(outer.Error, outer.Detail...))
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

// beginning is what the log gets of a body that is not understood.
func beginning(body []byte) string {
	body = bytes.Join(bytes.Fields(body), []byte(" "))
	if len(body) > 300 {
		body = append(body[:300:300], "…"...)
	}
	return strings.ToValidUTF8(string(body), "")
}
