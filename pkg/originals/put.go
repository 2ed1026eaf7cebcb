package originals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// chunkSize is the size of a chunk in bytes, half of the maximum message size. Chunks are large because each is a disk
// write.
const chunkSize = 512 << 10

// MaxPutTime is the time limit for a Put. Prune keeps chunks younger than twice this time.
const MaxPutTime = time.Hour

// Time limits for removing a failed Put's chunks, even if the Put's context has ended. unavailableTimeout applies if
// the Put failed because the servers did not answer.
const (
	cleanTimeout       = 10 * time.Second
	unavailableTimeout = 2 * time.Second
)

// PutOptions describe the content that Put stores.
type PutOptions struct {
	MaxBytes int64  // required: maximum size; larger content fails with ErrTooLarge
	MIMEType string // as declared or sniffed, returned with the original
	Name     string // file name or address, returned with the original
}

// buffers holds reusable chunk buffers. An upload needs only one, regardless of its size.
var buffers = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// Put stores r's content under the key. When it returns nil, the content is as durable as the server's storage; with an
// embedded server, it survives a power loss. When it fails, it removes the stored chunks or, if the server is
// unreachable, leaves them to Prune.
//
// Putting the same content again succeeds without changing anything, so a job may run twice. Different content fails
// with ErrExists, and content over the limit with ErrTooLarge. Errors from r are wrapped.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, o PutOptions) (domain.Original, error) {
	if _, err := DatasourceID(key); err != nil {
		return domain.Original{}, err
	}
	if o.MaxBytes <= 0 {
		return domain.Original{}, fmt.Errorf("storing original %s: no size limit is set", key)
	}
	ctx, cancel := context.WithTimeout(ctx, MaxPutTime)
	defer cancel()
	ctx, done := s.withBrokenCancel(ctx)
	defer done()
	p := &put{Store: s, key: key, opts: o, id: nuid.Next()}
	original, err := p.run(ctx, r)
	switch {
	case err == nil:
		s.cachePut(p)
		return original, nil
	case errors.Is(context.Cause(ctx), errBroken):
		// A server that can't write can't delete the stored chunks either. Prune removes them later. If the metadata
		// was stored as well, the original stays, but nothing refers to it.
		return domain.Original{}, fmt.Errorf("storing original %s: %w: %w", key, quorum.ErrUnavailable, errBroken)
	}
	timeout := cleanTimeout
	if errors.Is(err, quorum.ErrUnavailable) { // the caller has already waited long enough
		timeout = unavailableTimeout
	}
	sealed, clean := p.clean(ctx, timeout)
	switch {
	case sealed:
		return original, nil
	case clean != nil:
		return domain.Original{}, errors.Join(err, clean)
	case errors.Is(err, ErrExists):
		return s.storedCopy(ctx, original, err)
	}
	return domain.Original{}, err
}

// errBroken is the context's cause when the server can't store anything.
var errBroken = errors.New("the server cannot write to its store")

// withBrokenCancel returns a context that is cancelled once the server can no longer store anything. The caller must
// call done when it no longer needs it.
func (s *Store) withBrokenCancel(ctx context.Context) (_ context.Context, done func()) {
	if s.opts.Broken == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	broken := s.opts.Broken()
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-broken:
			cancel(errBroken)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watching.Wait()
	}
}

// storedCopy returns the original stored under o's key if its content is the same as o's, and otherwise err.
func (s *Store) storedCopy(ctx context.Context, o domain.Original, err error) (domain.Original, error) {
	info, lookErr := s.lookUp(ctx, o.Key)
	if lookErr != nil { // omit err, because it is unknown whether the original exists
		return domain.Original{}, fmt.Errorf("checking the stored original: %w", lookErr)
	}
	if sum, digestErr := digestOf(info); digestErr != nil || sum != o.SHA256 || int64(info.Size) != o.Size {
		return domain.Original{}, err
	}
	return o, nil
}

// put holds the state of one Put call.
type put struct {
	*Store
	key    string
	opts   PutOptions
	id     string // id shared by the object's chunks
	chunks uint32
	whole  []byte // the content, if it is to be cached
}

// cachePut caches the content if it fits in one chunk.
func (s *Store) cachePut(p *put) {
	if p.whole != nil {
		s.cache.add(p.key, p.whole)
	}
}

func (p *put) run(ctx context.Context, r io.Reader) (domain.Original, error) {
	buffer := buffers.Get().(*[chunkSize]byte)
	defer buffers.Put(buffer)
	hash := sha256.New()
	var size int64
	for eof := false; !eof; {
		if err := ctx.Err(); err != nil {
			return domain.Original{}, fmt.Errorf("storing original %s: %w", p.key, err)
		}
		capacity := buffer[:]
		if left := p.opts.MaxBytes - size; left < chunkSize {
			capacity = buffer[:left+1] // one extra byte reveals that the content is too large
		}
		var n int
		var err error
		if n, eof, err = fill(r, capacity); err != nil {
			return domain.Original{}, fmt.Errorf("reading the content of original %s: %w", p.key, err)
		}
		if size += int64(n); size > p.opts.MaxBytes {
			return domain.Original{}, fmt.Errorf("%w: original %s has more than %d bytes", ErrTooLarge, p.key, p.opts.MaxBytes)
		}
		if n == 0 {
			continue
		}
		hash.Write(buffer[:n])
		// Store one chunk at a time, because chunks are ordered by sequence number.
		if err := p.store(ctx, chunkPrefix+p.id, buffer[:n]); err != nil {
			return domain.Original{}, fmt.Errorf("storing original %s: %w", p.key, err)
		}
		p.chunks++
	}
	if p.cache != nil && p.chunks == 1 {
		p.whole = bytes.Clone(buffer[:size])
	}
	o := domain.Original{
		Key: p.key, SHA256: hex.EncodeToString(hash.Sum(nil)), Size: size, MIMEType: p.opts.MIMEType, Name: p.opts.Name,
	}
	return o, p.seal(ctx, o, hash.Sum(nil))
}

// store writes a chunk or the metadata. A retry does not write it twice.
func (p *put) store(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) error {
	id := p.id + "-" + strconv.FormatUint(uint64(p.chunks), 10) // the metadata counts as one more chunk
	msg := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}
	_, err := quorum.Store(ctx, p.js, quorum.DefaultTimeout, streamName, id, msg, opts...)
	return err
}

// fill reads until the buffer is full or the content ends. Unlike io.ReadFull, it can distinguish the end of the
// content from a broken connection, which net/http reports as io.ErrUnexpectedEOF. A partial upload must not be taken
// for a complete one.
func fill(r io.Reader, capacity []byte) (n int, eof bool, err error) {
	const maxEmpty = 100 // consecutive empty reads
	for empty := 0; n < len(capacity); {
		m, err := r.Read(capacity[n:])
		n += m
		switch {
		case err == io.EOF: // io.Reader returns exactly this value
			return n, true, nil
		case err != nil:
			return n, false, err
		case m > 0:
			empty = 0
		default:
			if empty++; empty == maxEmpty {
				return n, false, io.ErrNoProgress
			}
		}
	}
	return n, false, nil
}

// seal completes the object by writing its metadata, unless the key is taken.
func (p *put) seal(ctx context.Context, o domain.Original, sum []byte) error {
	data, err := json.Marshal(jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: p.key, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket:     Bucket,
		NUID:       p.id,
		Size:       uint64(o.Size),
		Chunks:     p.chunks,
		Digest:     digestPrefix + base64.URLEncoding.EncodeToString(sum),
	})
	if err != nil {
		return fmt.Errorf("encoding the metadata of original %s: %w", p.key, err)
	}
	err = p.store(ctx, metaSubject(p.key), data, jetstream.WithExpectLastSequencePerSubject(0))
	if quorum.WrongSequence(err) {
		return fmt.Errorf("original %s: %w", p.key, ErrExists)
	}
	if err != nil {
		return fmt.Errorf("storing the metadata of original %s: %w", p.key, err)
	}
	return nil
}

// clean removes the chunks stored by this Put. But if the original was completed and only the response was lost, for
// example because the server was killed, clean keeps the chunks and returns true: another Put with the same content may
// already have found the original and rely on it.
func (p *put) clean(ctx context.Context, timeout time.Duration) (sealed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	info, err := p.lookUp(ctx, p.key)
	if err == nil && info.NUID == p.id {
		return true, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	if err := p.purge(ctx, chunkPrefix+p.id); err != nil {
		return false, fmt.Errorf("removing the chunks of original %s: %w", p.key, err)
	}
	return false, nil
}

const digestPrefix = "SHA-256="

// digestOf returns an object's stored hexadecimal SHA-256.
func digestOf(info jetstream.ObjectInfo) (string, error) {
	encoded, ok := strings.CutPrefix(info.Digest, digestPrefix)
	sum, err := base64.URLEncoding.DecodeString(encoded)
	if !ok || err != nil || len(sum) != sha256.Size {
		return "", fmt.Errorf("%w: digest %s of original %s", ErrCorrupt, strconv.Quote(info.Digest), info.Name)
	}
	return hex.EncodeToString(sum), nil
}
