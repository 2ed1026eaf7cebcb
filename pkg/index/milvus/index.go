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

// Options configures an Index. Only Address is required. Zero values select the defaults.
type Options struct {
	// Address is the server's host and port, or its URL; https:// enables TLS.
	Address string
	// Username and Password, or just Token, are the credentials if the server requires any.
	Username, Password, Token string
	// Database is the server's database for the collections. "" means the server's default database.
	Database string
	// TLS encrypts the connection. The server's certificate is verified with the system's CAs.
	TLS bool
	// Prefix is the prefix of collection names: letters, digits and underscores. Default "sluice".
	Prefix string
	// Shards is the number of shards in a new collection. More shards spread writes over more nodes. Default 1.
	Shards int32
	// Partitions is the number of partitions in a new collection. A partition holds several datastores, and a search
	// reads one partition. Default 64.
	Partitions int64
	// Replicas is the number of copies of a collection in the query nodes' memory. It applies to collections that this
	// process loads. Default 1.
	Replicas int32
	// CallTimeout is the timeout for each call to the server. Default 30 s.
	CallTimeout time.Duration
	// LoadTimeout is the timeout for creating and loading a collection. Default 2 min.
	LoadTimeout time.Duration
	// Log receives messages from background work. Defaults to slog.Default().
	Log *slog.Logger
}

// Index is the Milvus engine. It implements index.Index.
type Index struct {
	opts Options

	ctx  context.Context // cancelled by Close
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // index.Index method calls in progress

	// connecting guards the four fields below: it is a mutex whose Lock a context can cancel.
	connecting  chan struct{}
	srv         *server
	nextConnect time.Time
	connectGap  time.Duration
	connectErr  error

	collections collections
	frequencies statisticsCache
	fresh       freshGenerations

	// Set only by tests, before the first call.
	listed, deleted int                         // page sizes in rows
	fault           grpc.UnaryClientInterceptor // intercepts calls to the server
}

var _ index.Index = (*Index)(nil)

// Open returns an index on a Milvus server without connecting, so a process can start while the server is down. The
// first call connects, and later ones reconnect. Ready reports whether the server is reachable.
func Open(opts Options) (*Index, error) {
	opts.Prefix = cmp.Or(opts.Prefix, "sluice")
	opts.Shards = cmp.Or(opts.Shards, 1)
	opts.Partitions = cmp.Or(opts.Partitions, 64)
	opts.Replicas = cmp.Or(opts.Replicas, 1)
	opts.CallTimeout = cmp.Or(opts.CallTimeout, 30*time.Second)
	opts.LoadTimeout = cmp.Or(opts.LoadTimeout, 2*time.Minute)
	opts.Log = cmp.Or(opts.Log, slog.Default())
	switch {
	case opts.Address == "":
		return nil, errors.New("opening the Milvus index: no address is set")
	case !validPrefix(opts.Prefix):
		return nil, fmt.Errorf("opening the Milvus index: the prefix %q is invalid: use up to 100 letters, digits and underscores, not starting with a digit", opts.Prefix)
	}
	x := &Index{opts: opts, connecting: make(chan struct{}, 1), listed: listedKeys, deleted: rowsPerDelete}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x, nil
}

// begin starts a method call. The returned context is cancelled with the caller's context or by Close. The method must
// return done(err).
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

// Ready implements index.Index. It fails if the server does not answer or is not healthy.
func (x *Index) Ready(ctx context.Context) error {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	return done(x.call(ctx, "checking the health of Milvus", func(ctx context.Context, srv *server) error {
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

// Server describes a Milvus server.
type Server struct {
	Version       string // as reported by the server; "" for Milvus Lite, which reports none
	LexicalSearch bool   // sparse vectors are supported; otherwise, purely lexical searches find nothing
}

// Lacks describes what the server can't do, or returns "" if nothing is missing.
func (x *Index) Lacks(ctx context.Context) (string, error) {
	server, err := x.Server(ctx)
	if err != nil || server.LexicalSearch {
		return "", err
	}
	return "Milvus " + server.Version + " is older than 2.4 and has no sparse vectors, so queries match by meaning but not by words: upgrade Milvus", nil
}

// Server connects to the server and returns its description.
func (x *Index) Server(ctx context.Context) (Server, error) {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return Server{}, err
	}
	var out Server
	err = x.call(ctx, "reading the properties of Milvus", func(_ context.Context, srv *server) error {
		out = Server{Version: srv.version, LexicalSearch: srv.sparse}
		return nil
	})
	return out, done(err)
}

// Empty reports whether Sluice has no collections on the server, as before the first write.
func (x *Index) Empty(ctx context.Context) (bool, error) {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return false, err
	}
	names, err := x.listCollections(ctx)
	return len(names) == 0, done(err)
}

// Close implements index.Index. Running calls fail with ErrClosed.
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
