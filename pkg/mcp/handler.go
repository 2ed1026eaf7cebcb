package mcp

import (
	"bytes"
	"cmp"
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

// maxQuestionCharacters is the maximum length of a query or question, according to the tools' schemas. The service may
// be configured with a lower limit.
const maxQuestionCharacters = 100_000

// Options configure a Handler. Zero fields mean the defaults.
type Options struct {
	Version      string        // the service's version, shown to clients
	WriteTimeout time.Duration // time limit for sending one piece of an answer; default 30 s
	IdleTimeout  time.Duration // time limit for a request; default 10 minutes
	Log          *slog.Logger  // nil: no log
	Arguments    ArgumentsOf   // validates tool arguments; nil: only the SDK validates them
}

// Handler serves the protocol over streamable HTTP, without sessions. The caller must already have checked the key and
// read the body.
type Handler struct {
	full, askOnly http.Handler
	opts          Options
}

// NewHandler returns a Handler that serves the library.
func NewHandler(lib Library, opts Options) *Handler {
	if opts.WriteTimeout <= 0 {
		opts.WriteTimeout = 30 * time.Second
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = 10 * time.Minute
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	h := &Handler{opts: opts}
	streamable := func(askOnly bool) http.Handler {
		server := newServer(lib, opts, askOnly)
		server.AddReceivingMiddleware(h.answerable)
		return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
			Stateless:                    true,
			Logger:                       opts.Log,
			MaxRequestBodyBytes:          -1,   // already read
			DisableLocalhostProtection:   true, // the caller has checked host and origin
			PropagateRequestCancellation: true,
		})
	}
	h.full, h.askOnly = streamable(false), streamable(true)
	return h
}

// Serve answers the JSON-RPC message `body`. If askOnly is set, only the "ask" tool is available. Tool calls are
// cancelled when r's context is done.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, body []byte, askOnly bool) {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		// Batches aren't supported. Newer versions of the protocol don't have them, and the rate limit would have to
		// count each message in a batch.
		writeMessage(w, http.StatusBadRequest, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{
			"code": jsonrpc.CodeInvalidRequest, "message": "batches are not supported; send each message in a separate request",
		}})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.IdleTimeout)
	defer cancel()
	r = r.Clone(context.WithValue(ctx, requestKey{}, ctx))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	next := h.full
	if askOnly {
		next = h.askOnly
	}
	next.ServeHTTP(&pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: h.opts.WriteTimeout}, r)
}

// requestKey is the key in a message's context for the context of the HTTP request that delivered the message.
type requestKey struct{}

// answerable stops processing a message when its HTTP request ends, because the answer couldn't be delivered. The SDK
// does so only for the newest version of the protocol. answerable also rejects subscriptions. It turns panics into
// error responses, because the SDK runs handlers in its own goroutines, where the HTTP server doesn't recover panics.
func (h *Handler) answerable(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				h.opts.Log.Error("tool panicked", "method", method, "panic", cause, "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error; the service's log has the cause"}
			}
		}()
		if method == "subscriptions/listen" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "subscriptions are not supported"}
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
	if err != nil { // cannot fail for this package's types
		body = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has disconnected
}

// pacedWriter sets a deadline for each write, which disconnects clients that don't read.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// Unwrap lets http.ResponseController reach the connection.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	// This fails only in tests without a connection.
	_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout))
	return p.ResponseWriter.Write(b)
}
