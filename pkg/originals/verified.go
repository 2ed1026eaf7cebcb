package originals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Verified verifies an original and returns its content, or ErrNotFound. If one server's copy is damaged, it reads the
// other servers' copies. It fails with ErrCorrupt if no server has an undamaged copy, and with a temporary error if a
// server that may have an undamaged copy does not answer. The returned reader reads the content a second time and
// verifies each chunk; only single-chunk content is not read again. Otherwise, the reader is like Get's.
func (s *Store) Verified(ctx context.Context, key string) (io.ReadCloser, error) {
	info, sum, err := s.find(ctx, key)
	if err != nil {
		return nil, err
	}
	content, err := s.verified(ctx, info, sum, s.nextFromAny)
	if errors.Is(err, ErrCorrupt) && s.isReplicated() {
		content, err = s.verified(ctx, info, sum, s.leader.Next)
	}
	if errors.Is(err, ErrCorrupt) && s.isReplicated() {
		corrupt := err
		err = s.eachServer(ctx, func(one jetstream.Stream) error {
			content, err = s.verified(ctx, info, sum, func(ctx context.Context, sequence uint64, subject string) (*jetstream.RawStreamMsg, error) {
				return one.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(subject))
			})
			return err
		})
		if errors.Is(err, errNoServer) {
			err = corrupt
		}
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}

// Verify returns nil if any server has an undamaged copy of an original, and otherwise the same errors as Verified.
func (s *Store) Verify(ctx context.Context, key string) error {
	content, err := s.Verified(ctx, key)
	if err != nil {
		return err
	}
	return content.Close()
}

func (s *Store) isReplicated() bool { return s.stream.CachedInfo().Config.Replicas > 1 }

// verified reads an original to its end and compares its digest.
func (s *Store) verified(ctx context.Context, info jetstream.ObjectInfo, sum string, next nextChunk) (io.ReadCloser, error) {
	check := s.reader(ctx, info, sum, next)
	again := &verifiedReader{ctx: ctx, store: s, name: info.Name}
	for {
		err := check.fetch()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		again.chunks = append(again.chunks, chunk{sequence: check.at - 1, sum: sha256.Sum256(check.rest)})
	}
	if info.Chunks == 1 {
		return io.NopCloser(bytes.NewReader(check.rest)), nil
	}
	return again, nil
}

// chunk holds a chunk's position in the stream and its SHA-256.
type chunk struct {
	sequence uint64
	sum      [sha256.Size]byte
}

// verifiedReader reads chunks verified earlier, one at a time.
type verifiedReader struct {
	ctx    context.Context // from Verified, because Read has no context argument
	store  *Store
	name   string
	chunks []chunk // chunks not requested yet
	buffer
}

// Read implements io.Reader.
func (r *verifiedReader) Read(p []byte) (int, error) { return r.read(p, r.fetch) }

func (r *verifiedReader) fetch() (err error) {
	if len(r.chunks) == 0 {
		return io.EOF
	}
	r.rest, err = r.store.chunk(r.ctx, r.name, r.chunks[0])
	r.chunks = r.chunks[1:]
	return err
}

// chunk returns a chunk's content from any server with an undamaged copy.
func (s *Store) chunk(ctx context.Context, key string, c chunk) (content []byte, err error) {
	check := func(msg *jetstream.RawStreamMsg, err error) error {
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && sha256.Sum256(msg.Data) != c.sum:
			return ErrCorrupt
		case err != nil:
			return err
		}
		content = msg.Data
		return nil
	}
	if check(s.readFromAny(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return s.stream.GetMsg(ctx, c.sequence) })) == nil {
		return content, nil
	}
	if err = check(s.leader.At(ctx, c.sequence)); err == nil {
		return content, nil
	}
	if _, lookErr := s.lookUp(ctx, key); lookErr != nil {
		return nil, lookErr // deleted during the read
	}
	if s.isReplicated() {
		if one := s.eachServer(ctx, func(one jetstream.Stream) error { return check(one.GetMsg(ctx, c.sequence)) }); !errors.Is(one, errNoServer) {
			err = one
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading original %s: %w", key, err)
	}
	return content, nil
}

// errNoServer means that every server's copy is damaged.
var errNoServer = errors.New("originals: no server has an undamaged copy")

// eachServer calls try for each of the cluster's servers, with a stream that reads that server's own copy, until a call
// succeeds or fails with ErrNotFound. It returns that call's result. If all copies are damaged, it returns errNoServer,
// or quorum.ErrUnavailable if a server couldn't be reached.
func (s *Store) eachServer(ctx context.Context, try func(jetstream.Stream) error) error {
	if err := s.askEachServer(ctx, try); !errors.Is(err, errNoServer) {
		return err
	}
	// A server that has just started or lost the leadership doesn't answer direct gets for a moment. Until then,
	// another server answers in its place, perhaps from a damaged copy. Wait until each server answers for itself, then
	// ask all of them again.
	info, err := s.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("the copies that could be read are damaged: %w: %w", quorum.ErrUnavailable, err)
	}
	for _, replica := range info.Cluster.Replicas {
		if !replica.Current || replica.Offline {
			return fmt.Errorf("the copies that could be read are damaged: %w: NATS server %s is not up to date", quorum.ErrUnavailable, replica.Name)
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(directGetDelay):
	}
	return s.askEachServer(ctx, try)
}

// directGetDelay is longer than the 2 s a NATS server with a current copy takes to start answering direct gets.
const directGetDelay = 2500 * time.Millisecond

func (s *Store) askEachServer(ctx context.Context, try func(jetstream.Stream) error) error {
	var unreachable error
	servers := s.js.Conn().Servers()
	// The connection learns the other servers' addresses from its own server, which may not know them all yet if it has
	// just started.
	if replicas := s.stream.CachedInfo().Config.Replicas; len(servers) < replicas {
		unreachable = fmt.Errorf("only %d of %d NATS servers are known: name them all in NATS_URL", len(servers), replicas)
	}
	for _, address := range servers {
		conn, stream, err := s.connectTo(ctx, address)
		if err != nil {
			unreachable = err
			continue
		}
		err = try(stream)
		conn.Close()
		switch {
		case errors.Is(err, ErrCorrupt):
		case err == nil, errors.Is(err, ErrNotFound):
			return err
		default:
			unreachable = err
		}
	}
	if unreachable != nil {
		return fmt.Errorf("the copies that could be read are damaged: %w: %w", quorum.ErrUnavailable, unreachable)
	}
	return errNoServer
}

// connectTimeout is the time limit for connecting to one server.
const connectTimeout = 3 * time.Second

// connectTo connects only to the server at this address and returns the connection and the stream. A server answers
// direct gets from its own copy of the stream if it has one, so reading a particular copy requires a connection to that
// server.
func (s *Store) connectTo(ctx context.Context, address string) (*nats.Conn, jetstream.Stream, error) {
	shared := s.js.Conn()
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to a NATS server: %w", err)
	}
	if current, err := url.Parse(shared.ConnectedUrl()); err == nil {
		u.User = current.User
	}
	opts := shared.Opts
	opts.Url, opts.Servers, opts.Timeout = u.String(), nil, connectTimeout
	opts.AllowReconnect, opts.RetryOnFailedConnect, opts.IgnoreDiscoveredServers = false, false, true
	opts.ConnectedCB, opts.ReconnectedCB, opts.ReconnectErrCB, opts.DisconnectedErrCB, opts.ClosedCB = nil, nil, nil, nil, nil
	opts.DiscoveredServersCB, opts.LameDuckModeHandler, opts.ReconnectToServerCB = nil, nil, nil
	opts.AsyncErrorCB = func(*nats.Conn, *nats.Subscription, error) {} // requests return their errors
	conn, err := opts.Connect()
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the NATS server at %s: %w", u.Host, err)
	}
	stream, err := openStream(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("reading from the NATS server at %s: %w", u.Host, err)
	}
	return conn, stream, nil
}

func openStream(ctx context.Context, conn *nats.Conn) (jetstream.Stream, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	return js.Stream(ctx, streamName)
}
