package originals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Get returns an original's content, or ErrNotFound. The reader verifies the content: instead of io.EOF, it returns
// ErrCorrupt if the digest does not match, and ErrNotFound if the original was deleted during the read. It holds one
// chunk in memory, fails once ctx is done, and is not safe for concurrent use. The caller must close it. To verify the
// content before reading it, call Verified instead.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	info, sum, err := s.find(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.reader(ctx, info, sum, s.nextFromAny), nil
}

func (s *Store) reader(ctx context.Context, info jetstream.ObjectInfo, sum string, next nextChunk) *reader {
	return &reader{ctx: ctx, store: s, next: next, info: info, sum: sum, hash: sha256.New(), at: 1}
}

// Take is like Verified, but for an original's first reader. If this Store has just put the content and still caches
// it, Take returns it from the cache and removes it there.
func (s *Store) Take(ctx context.Context, key string) (io.ReadCloser, error) {
	if content, ok := s.cache.take(key); ok {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	return s.Verified(ctx, key)
}

// find returns an original's metadata and its hexadecimal SHA-256. It first tries any server, which is fast, and calls
// lookUp only if that fails.
func (s *Store) find(ctx context.Context, key string) (info jetstream.ObjectInfo, sum string, err error) {
	if _, err = DatasourceID(key); err != nil {
		return info, "", err
	}
	if info, err = s.findMeta(ctx, key); err == nil {
		sum, err = digestOf(info)
	}
	return info, sum, err
}

func (s *Store) findMeta(ctx context.Context, key string) (jetstream.ObjectInfo, error) {
	msg, err := s.readFromAny(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.stream.GetLastMsgForSubject(ctx, metaSubject(key))
	})
	if err == nil {
		if info, err := decodeMeta(msg); err == nil && !info.Deleted {
			return info, nil
		}
	}
	return s.lookUp(ctx, key)
}

// readAnyTimeout limits a read from an arbitrary server. If it is exceeded, the leader is asked.
const readAnyTimeout = 3 * time.Second

func (s *Store) readFromAny(ctx context.Context, read func(context.Context) (*jetstream.RawStreamMsg, error)) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, readAnyTimeout)
	defer cancel()
	return read(ctx)
}

// nextChunk returns a subject's first message at or after a given sequence number, or jetstream.ErrMsgNotFound.
type nextChunk func(ctx context.Context, sequence uint64, subject string) (*jetstream.RawStreamMsg, error)

// nextFromAny is a nextChunk that asks any server first, then the leader.
func (s *Store) nextFromAny(ctx context.Context, sequence uint64, subject string) (*jetstream.RawStreamMsg, error) {
	msg, err := s.readFromAny(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.stream.GetMsg(ctx, sequence, jetstream.WithGetMsgSubject(subject))
	})
	if err != nil {
		return s.leader.Next(ctx, sequence, subject)
	}
	return msg, nil
}

// reader requests one chunk at a time, so that a slow caller does not hold up other readers.
type reader struct {
	ctx   context.Context // from Get, because Read has no context argument
	store *Store
	next  nextChunk
	info  jetstream.ObjectInfo
	sum   string // expected hexadecimal SHA-256
	hash  hash.Hash

	buffer
	at     uint64 // minimum sequence of the next chunk
	chunks uint32
	size   uint64
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) { return r.read(p, r.fetch) }

// buffer holds the unread part of a reader's current chunk.
type buffer struct {
	rest []byte
	err  error // returned by later Reads
}

// read reads from the current chunk. At the end of the chunk, it calls fetch, which must put the next chunk in the
// buffer.
func (b *buffer) read(p []byte, fetch func() error) (int, error) {
	if len(b.rest) == 0 && b.err == nil {
		b.err = fetch()
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// fetch reads the next chunk. After the last one, it returns io.EOF if the content's digest matches, and ErrCorrupt
// otherwise.
func (r *reader) fetch() error {
	if r.chunks == r.info.Chunks {
		if r.size != r.info.Size || hex.EncodeToString(r.hash.Sum(nil)) != r.sum {
			return fmt.Errorf("original %s: %w", r.info.Name, ErrCorrupt)
		}
		return io.EOF
	}
	msg, err := r.next(r.ctx, r.at, chunkPrefix+r.info.NUID)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		if _, err := r.store.lookUp(r.ctx, r.info.Name); err != nil {
			return err // deleted during the read
		}
		return fmt.Errorf("original %s: chunk %d of %d is missing: %w", r.info.Name, r.chunks+1, r.info.Chunks, ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("reading original %s: %w", r.info.Name, err)
	}
	r.rest, r.at = msg.Data, msg.Sequence+1
	r.chunks++
	r.size += uint64(len(msg.Data))
	r.hash.Write(msg.Data)
	return nil
}

var errReadAfterClose = errors.New("originals: read after close")

// Close implements io.Closer. Later reads fail.
func (b *buffer) Close() error {
	b.rest, b.err = nil, errReadAfterClose
	return nil
}
