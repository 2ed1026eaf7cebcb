package milvus

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	grpc_retry "github.com/grpc-ecosystem/go-grpc-middleware/retry"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/sleep"
)

// Timing of the first connection. After that, gRPC reconnects with its own back-off.
const (
	connectTimeout  = 5 * time.Second
	firstConnectGap = 250 * time.Millisecond // pause between attempts; doubles each time
	maxConnectGap   = 8 * time.Second
)

// Retries after a temporary error.
const (
	maxAttempts   = 4
	firstRetryGap = 100 * time.Millisecond // doubles each time and varies by up to half
)

// server holds a connection to the server, and the server's properties.
type server struct {
	client.Client
	service milvuspb.MilvusServiceClient // for calls the SDK lacks or implements incorrectly
	version string                       // as reported by the server; "" if it reports none
	sparse  bool                         // supports sparse vectors
}

// server returns the connection, connecting first if necessary. While the server is unreachable, it makes one attempt
// at a time, with backoff. Between attempts, it fails immediately with the last attempt's error.
func (x *Index) server(ctx context.Context) (*server, error) {
	select {
	case x.connecting <- struct{}{}:
		defer func() { <-x.connecting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if x.srv != nil {
		return x.srv, nil
	}
	if wait := time.Until(x.nextConnect); wait > 0 {
		return nil, fmt.Errorf("cannot connect to %s; next attempt in %v: %w", x.opts.Address, wait.Round(time.Millisecond), x.connectErr)
	}
	attempt, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	srv, err := x.connect(attempt)
	if err != nil {
		if ctx.Err() == nil { // a cancelled attempt says nothing about the server
			x.connectGap = min(max(2*x.connectGap, firstConnectGap), maxConnectGap)
			x.nextConnect, x.connectErr = time.Now().Add(x.connectGap), err
		}
		return nil, err
	}
	if x.ctx.Err() != nil {
		_ = srv.Close()
		return nil, index.ErrClosed
	}
	x.srv, x.connectGap, x.connectErr = srv, 0, nil
	x.opts.Log.Info("connected to Milvus", "address", x.opts.Address, "version", srv.version, "lexical_search", srv.sparse)
	return srv, nil
}

// connect establishes a connection and determines the server's properties.
func (x *Index) connect(ctx context.Context) (*server, error) {
	interceptors := []grpc.UnaryClientInterceptor{checkStatus}
	if x.fault != nil {
		interceptors = append(interceptors, x.fault)
	}
	c, err := client.NewClient(ctx, client.Config{
		Address: x.opts.Address, Username: x.opts.Username, Password: x.opts.Password, APIKey: x.opts.Token, DBName: x.opts.Database,
		EnableTLSAuth: x.opts.TLS,
		DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(interceptors...),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 15 * time.Second, Timeout: 10 * time.Second}),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
				MinConnectTimeout: connectTimeout,
			}),
			grpc.WithDefaultCallOptions(
				grpc.MaxCallRecvMsgSize(math.MaxInt32),
				grpc_retry.Disable(), // we retry ourselves, knowing which calls are idempotent
			),
		},
		// The SDK's handshake leaks the connection if it fails. The properties are requested below instead.
		DisableConn:    true,
		RetryRateLimit: &client.RetryRateLimitOption{MaxRetry: 0},
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", x.opts.Address, err)
	}
	stub, ok := c.(*client.GrpcClient)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("connecting to %s: the SDK returned a client of the unexpected type %T", x.opts.Address, c)
	}
	srv := &server{Client: c, service: stub.Service}
	if err := srv.learn(ctx, x.opts.Prefix); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("reading the properties of the server at %s: %w", x.opts.Address, err)
	}
	return srv, nil
}

// learn finds out the server's version and whether it supports sparse vectors, as Milvus does since 2.4. An older
// server must not be probed: it accepts a sparse vector field, but crashes when it loads the collection. Milvus Lite
// reports no version and is probed.
func (s *server) learn(ctx context.Context, prefix string) error {
	version, err := s.GetVersion(ctx)
	switch {
	case unimplemented(err):
		s.sparse, err = s.probeSparse(ctx, prefix)
		return err
	case err != nil:
		return err
	}
	s.version = version
	major, minor, ok := parseVersion(version)
	s.sparse = ok && (major > 2 || major == 2 && minor >= 4)
	return nil
}

var versionPattern = lazyregexp.New(`^v?(\d{1,4})\.(\d{1,4})`)

// parseVersion returns the major and minor numbers of a version such as v2.3.5-lite or 2.4.15.
func parseVersion(v string) (major, minor int, ok bool) {
	m := versionPattern().FindStringSubmatch(v)
	if m == nil {
		return 0, 0, false
	}
	major, _ = strconv.Atoi(m[1]) // at most four digits
	minor, _ = strconv.Atoi(m[2])
	return major, minor, true
}

// call calls f with the call timeout. It retries f a few times after temporary errors, so f must be idempotent.
func (x *Index) call(ctx context.Context, action string, f func(context.Context, *server) error) error {
	return x.repeat(ctx, action, func() error { return x.callOnce(ctx, f) })
}

// repeat calls f again a few times after temporary errors, with backoff.
func (x *Index) repeat(ctx context.Context, action string, f func() error) error {
	gap := firstRetryGap
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", action, context.Cause(ctx))
		}
		if attempt == maxAttempts || !transient(err) {
			return fmt.Errorf("%s: %w", action, err)
		}
		if sleep.For(ctx, gap/2+rand.N(gap)) != nil {
			return fmt.Errorf("%s: %w", action, context.Cause(ctx))
		}
		gap *= 2
	}
}

func (x *Index) callOnce(ctx context.Context, f func(context.Context, *server) error) error {
	srv, err := x.server(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, x.opts.CallTimeout)
	defer cancel()
	return f(ctx, srv)
}
