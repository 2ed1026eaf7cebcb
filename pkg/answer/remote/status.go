package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a server may send.
const (
	maxErrorBytes = 64 << 10 // of an error's body
	maxLineBytes  = 1 << 20  // of a line of a stream, and of a body that is no stream
)

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

// Guard is the middleware of a client of a model server: it makes a Status of every answer that is not a success,
// ErrNoModel of a web page, and bounds the lines of the others. It is what both SDKs take as option.WithMiddleware.
func Guard(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return res, err
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode < 300 && media == "text/html" {
		res.Body.Close()
		return nil, ErrNoModel
	}
	if res.StatusCode < 300 {
		res.Body = &plainLines{ReadCloser: res.Body}
		return res, nil
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes)) // what could be read has to do
	s := ReadStatus(res.StatusCode, body)
	s.After, s.HasWait = retryAfter(res.Header, time.Now())
	return nil, s
}

// NoRedirects is what the clients' CheckRedirect has to be: keys that stand in headers of their own would go along to
// another host.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

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

// retryAfter reads the wait that a response asks for: milliseconds in the header of OpenAI's, else seconds or a date (RFC
// 9110, section 10.2.3).
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 86_400_000 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 86_400 {
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil && at.Sub(now) < 24*time.Hour {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
