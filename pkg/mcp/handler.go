package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxQuestionCharacters is what a query or question of the schemas may have; the service may be configured to take less.
const maxQuestionCharacters = 100_000

// Options tune a Handler. The zero value of each field means its default.
type Options struct {
	Version      string        // of the service, told to clients
	WriteTimeout time.Duration // for one piece of an answer to reach the client; default 30 s
	Patience     time.Duration // for one request from its body to the end of its answer; default 10 minutes
	Log          *slog.Logger  // nil: none
	Arguments    ArgumentsOf   // checks what tools are called with; nil: the SDK does, in its words
}

// Handler serves the protocol over HTTP (streamable HTTP, without sessions). Who calls it has checked the key and read the
// body.
type Handler struct {
	full, askOnly http.Handler
	opts          Options
}

// NewHandler returns the server of a library.
func NewHandler(lib Library, opts Options) *Handler {
	if opts.WriteTimeout <= 0 {
		opts.WriteTimeout = 30 * time.Second
	}
	if opts.Patience <= 0 {
		opts.Patience = 10 * time.Minute
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{opts: opts}
	streamable := func(askOnly bool) http.Handler {
		server := newServer(lib, opts, askOnly)
		server.AddReceivingMiddleware(h.answerable)
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
			Stateless:                    true,
			Logger:                       opts.Log,
			MaxRequestBodyBytes:          -1,   // it has been read
			DisableLocalhostProtection:   true, // hosts and origins have been checked
			PropagateRequestCancellation: true,
		})
	}
	h.full, h.askOnly = streamable(false), streamable(true)
	return h
}

// Serve answers one message, which stands in body. askOnly leaves the caller the tool ask alone. What the tools do ends
// when r's context does.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, body []byte, askOnly bool) {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		// Newer versions of the protocol have no batches, and each of their messages would have to be counted.
		writeMessage(w, http.StatusBadRequest, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{
			"code": jsonrpc.CodeInvalidRequest, "message": "a batch of messages is not taken; send each in a request of its own",
		}})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.Patience)
	defer cancel()
	r = r.Clone(context.WithValue(ctx, requestKey{}, ctx))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	next := h.full
	if askOnly {
		next = h.askOnly
	}
	next.ServeHTTP(&pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: h.opts.WriteTimeout}, r)
}

// requestKey is under which a message's context carries that of its HTTP request.
type requestKey struct{}

// answerable ends what is done for a message when its HTTP request ends, which the SDK does for the newest version of the
// protocol only: an answer has no other way to its client. Subscriptions, which would last, are not taken. A panic is the
// message's error: the SDK works in goroutines of its own, where the server of HTTP does not catch it.
func (h *Handler) answerable(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				h.opts.Log.Error("tool panicked", "method", method, "panic", cause, "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the service failed; its log has the cause"}
			}
		}()
		if method == "subscriptions/listen" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there are no notifications to subscribe to"}
		}
		if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
			tied, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(request, func() { cancel(context.Cause(request)) })()
			ctx = tied
		}
		return next(ctx, method, req)
	}
}

func writeMessage(w http.ResponseWriter, status int, message map[string]any) {
	body, err := json.Marshal(message)
	if err != nil { // what this package puts in always encodes
		body = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left needs no answer
}

// pacedWriter gives up a client that does not take what is written.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// Unwrap lets a response controller reach the writer.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	// Where deadlines are not supported, in tests without a connection, there is nobody to be slow.
	_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout))
	return p.ResponseWriter.Write(b)
}
