package milvus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/sluice/sluice/pkg/index"
)

// Options configures an Index. Only Address is needed; zero values mean the defaults.
type Options struct {
	// Address is the server's host and port, or its URL: https:// means TLS.
	Address string
	// Username and Password, or Token, authenticate where the server asks for it.
	Username, Password, Token string
	// Database is the server's database that holds the collections; "" means its default one.
	Database string
	// TLS encrypts the connection, checked against the system's certificates.
	TLS bool
	// Prefix begins the names of collections: letters, digits and underscores. Default "sluice".
	Prefix string
	// Shards is how many channels a new collection is written through; more let more nodes take part in writing. Default 1.
	Shards int32
	// Partitions is how many partitions a new collection has; datastores are spread over them, and a search reads one.
	// Default 64.
	Partitions int64
	// Replicas is how many copies of a collection are loaded into query nodes when this process loads it. Default 1.
	Replicas int32
	// CallTimeout bounds each call to the server. Default 30 s.
	CallTimeout time.Duration
	// LoadTimeout bounds making and loading a collection. Default 2 min.
	LoadTimeout time.Duration
	// Log receives what nobody waits for. Default slog.Default().
	Log *slog.Logger
}

// Index is the Milvus engine. It implements index.Index.
type Index struct {
	opts Options

	ctx  context.Context // ends with Close
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // calls of the contract

	// connecting is held while the fields below it are looked at or changed.
	connecting  chan struct{}
	srv         *server
	nextConnect time.Time
	connectGap  time.Duration
	connectErr  error

	collections collections
	frequencies frequencies
	fresh       freshGenerations

	// Tests set these before the first call.
	listed, deleted int                         // rows of a page
	fault           grpc.UnaryClientInterceptor // stands between the SDK and the server
}

var _ index.Index = (*Index)(nil)

// Open returns the index on a server. It does not connect: that is done by the first call, and again whenever the
// server was away, so a process starts whether the server is there or not; Ready tells.
func Open(opts Options) (*Index, error) {
	opts.Prefix = cmp.Or(opts.Prefix, "sluice")
	opts.Shards = cmp.Or(opts.Shards, 1)
	opts.Partitions = cmp.Or(opts.Partitions, 64)
	opts.Replicas = cmp.Or(opts.Replicas, 1)
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 30*time.Second)
	opts.LoadTimeout = cmp.Or(opts.LoadTimeout, 2*time.Minute)
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	switch {
	case opts.Address == "":
		return nil, errors.New("opening the Milvus index: no address is given")
	case !validPrefix(opts.Prefix):
		return nil, fmt.Errorf("opening the Milvus index: names of collections cannot begin with %q: only letters, digits and underscores, a digit not first, at most 100", opts.Prefix)
	}
	x := &Index{opts: opts, connecting: make(chan struct{}, 1), listed: listedKeys, deleted: deletedAtOnce}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x, nil
}

// begin starts a call of the contract. Its context ends with the caller's and with the index. done must be called with
// the call's error, and returns the error for the caller.
func (x *Index) begin(ctx context.Context) (_ context.Context, done func(error) error, _ error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, nil, index.ErrClosed
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	x.running.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(x.ctx, func() { cancel(index.ErrClosed) })
	return ctx, func(err error) error {
		release()
		cancel(nil)
		x.running.Done()
		return err
	}, nil
}

// Ready implements index.Index: the server must answer.
func (x *Index) Ready(ctx context.Context) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	return done(x.call(ctx, "asking Milvus for its state", func(ctx context.Context, srv *server) error {
		state, err := srv.CheckHealth(ctx)
		if unimplemented(err) {
			_, err = srv.HasCollection(ctx, x.opts.Prefix)
			return err
		}
		if err != nil {
			return err
		}
		if !state.IsHealthy {
			return fmt.Errorf("the server is not healthy: %v", state.Reasons)
		}
		return nil
	}))
}

// Server says what is known about the server.
type Server struct {
	Version       string // as the server tells it; "" when it tells none, as Milvus Lite does
	LexicalSearch bool   // false: the server has no sparse vectors, and words alone find nothing
}

// Server connects and says what the server can do: what a process reports at its start and with its readiness.
func (x *Index) Server(ctx context.Context) (Server, error) {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return Server{}, err
	}
	var out Server
	err = x.call(ctx, "asking Milvus what it can do", func(_ context.Context, srv *server) error {
		out = Server{Version: srv.version, LexicalSearch: srv.sparse}
		return nil
	})
	return out, done(err)
}

// Close implements index.Index. Running calls end with ErrClosed.
func (x *Index) Close() error {
	x.mu.Lock()
	closed := x.closed
	x.closed = true
	x.mu.Unlock()
	if closed {
		return nil
	}
	x.stop()
	x.running.Wait()
	x.frequencies.making.Wait()
	if x.srv == nil {
		return nil
	}
	if err := x.srv.Close(); err != nil {
		return fmt.Errorf("closing the connection to Milvus: %w", err)
	}
	return nil
}
