package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Relay serves one client over a pair of streams, for desktop clients that start a server as a command. It forwards
// everything to a running service's Handler, so it has the same tools, keys and limits.
type Relay struct {
	Endpoint string // address of the service's MCP endpoint, such as http://127.0.0.1:8080/mcp
	Key      string
	Version  string
	Client   *http.Client // client for the service; nil: http.DefaultClient
	Log      *slog.Logger // nil: no log
}

// Run serves the client until the client closes its stream or ctx is done. While the service is unreachable, every
// request fails with an error.
func (r Relay) Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	link := &connection{relay: r, ctx: ctx}
	defer link.drop()
	server := sdk.NewServer(identity(r.Version), &sdk.ServerOptions{
		Instructions: instructions, Capabilities: capabilities(true), Logger: r.Log,
	})
	server.AddReceivingMiddleware(link.forward)
	err := server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// connection is the relay's connection to the service. It is opened on first use and reopened if it breaks.
type connection struct {
	relay Relay
	ctx   context.Context // the relay's context, because the connection outlives the request that opens it

	mu      sync.Mutex
	session *sdk.ClientSession
	client  *sdk.ServerSession // the relay's client, which receives progress
}

// forward forwards requests to the service. Requests that the service doesn't handle, such as the handshake, are left
// to the SDK.
func (l *connection) forward(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		ask, known := forwardFunc(req.GetParams())
		if !known {
			return next(ctx, method, req)
		}
		client, _ := req.GetSession().(*sdk.ServerSession)
		session, err := l.connect(client)
		if err != nil {
			return nil, l.connectionError(err)
		}
		result, err := ask(ctx, session)
		if err != nil && ctx.Err() == nil && !isAnswer(err) {
			l.drop()
			return nil, l.connectionError(err)
		}
		return result, err
	}
}

// isAnswer reports whether an error comes from the service. If a request didn't reach the service, the SDK itself
// creates an error with the code `rejected`.
func isAnswer(err error) bool {
	const rejected = -32005
	var answered *jsonrpc.Error
	return errors.As(err, &answered) && answered.Code != rejected
}

// forwardFunc returns a function that sends a request with these parameters to the service. `known` is false if the
// service doesn't handle this kind of request.
func forwardFunc(params sdk.Params) (ask func(context.Context, *sdk.ClientSession) (sdk.Result, error), known bool) {
	switch p := params.(type) {
	case *sdk.ListToolsParams:
		return func(ctx context.Context, s *sdk.ClientSession) (sdk.Result, error) { return s.ListTools(ctx, p) }, true
	case *sdk.CallToolParamsRaw:
		return func(ctx context.Context, s *sdk.ClientSession) (sdk.Result, error) {
			call := &sdk.CallToolParams{Name: p.Name, Arguments: p.Arguments}
			if token := p.GetProgressToken(); token != nil {
				call.Meta = sdk.Meta{"progressToken": token} // pass the token on unchanged: if it is a number, it is a float64, which SetProgressToken does not accept
			}
			result, err := s.CallTool(ctx, call)
			if err != nil {
				return nil, err
			}
			return convertResult(result, isMarked(p.Meta)), nil
		}, true
	case *sdk.ListResourcesParams:
		return func(ctx context.Context, s *sdk.ClientSession) (sdk.Result, error) { return s.ListResources(ctx, p) }, true
	case *sdk.ListResourceTemplatesParams:
		return func(ctx context.Context, s *sdk.ClientSession) (sdk.Result, error) {
			return s.ListResourceTemplates(ctx, p)
		}, true
	case *sdk.ReadResourceParams:
		return func(ctx context.Context, s *sdk.ClientSession) (sdk.Result, error) { return s.ReadResource(ctx, p) }, true
	default:
		return nil, false
	}
}

func (l *connection) connect(client *sdk.ServerSession) (*sdk.ClientSession, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client = client
	if l.session != nil {
		return l.session, nil
	}
	http := *orDefault(l.relay.Client)
	http.Transport = authTransport{next: http.Transport, key: l.relay.Key}
	asker := sdk.NewClient(&sdk.Implementation{Name: "sluice-relay", Version: l.relay.Version}, &sdk.ClientOptions{
		Logger: l.relay.Log, ProgressNotificationHandler: l.progress,
	})
	session, err := asker.Connect(l.ctx, &sdk.StreamableClientTransport{Endpoint: l.relay.Endpoint, HTTPClient: &http, MaxRetries: -1}, nil)
	if err != nil {
		return nil, err
	}
	l.session = session
	return session, nil
}

func orDefault(c *http.Client) *http.Client {
	if c == nil {
		return http.DefaultClient
	}
	return c
}

func (l *connection) drop() {
	l.mu.Lock()
	session := l.session
	l.session = nil
	l.mu.Unlock()
	if session != nil {
		_ = session.Close() // ignore the error: the connection may already be broken
	}
}

// progress forwards progress notifications to the relay's client. A notification needs no conversion, because the relay
// passes the client's own progress token on to the service.
func (l *connection) progress(ctx context.Context, r *sdk.ProgressNotificationClientRequest) {
	l.mu.Lock()
	client := l.client
	l.mu.Unlock()
	if client != nil {
		_ = client.NotifyProgress(ctx, r.Params) // an error means that the client has disconnected
	}
}

func (l *connection) connectionError(err error) error {
	message := fmt.Sprintf("calling the service at %s: %v", l.relay.Endpoint, err)
	if refused, ok := errors.AsType[*refusal](err); ok {
		message = fmt.Sprintf("the service at %s: %v", l.relay.Endpoint, refused)
	}
	return &jsonrpc.Error{Code: codeServer, Message: message}
}

// authTransport adds the key to requests and turns refusals into errors.
type authTransport struct {
	next http.RoundTripper // nil: http.DefaultTransport
	key  string
}

// RoundTrip implements http.RoundTripper.
func (k authTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := k.next
	if next == nil {
		next = http.DefaultTransport
	}
	if k.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	res, err := next.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost {
		return res, err
	}
	if refused := refusalOf(res); refused != nil {
		return nil, refused
	}
	return res, nil
}
