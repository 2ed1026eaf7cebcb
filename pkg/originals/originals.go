// Package originals stores raw content (uploads and fetched pages) in a JetStream object store. An original has a
// unique key and never changes.
//
// The store uses the NATS object store format, so the nats command can read it. An object's chunks share a subject, and
// one metadata message completes the object. This package writes the format itself instead of using the client's Put,
// because that sends up to 4,000 chunks before it checks a response, sends the metadata before the chunks are durable,
// leaves chunks behind if its context is cancelled, and creates a message for every short read from a network body.
package originals

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
	"github.com/sluice/sluice/pkg/sleep"
)

// Bucket is the name of the object store.
const Bucket = "originals"

const (
	streamName  = "OBJ_" + Bucket
	chunkPrefix = "$O." + Bucket + ".C."
	metaPrefix  = "$O." + Bucket + ".M."
	// unusedSubject never has chunks, because no Put uses the id "none". quorum.Reader.Sync needs such a subject.
	unusedSubject = chunkPrefix + "none"
)

// Options configure the store. The zero value suits a single embedded server.
type Options struct {
	Replicas int   // number of replicas: 1 to 5, at most one per server; default 1; may be changed later
	MaxBytes int64 // maximum total size of all originals; default 0: no limit
	Now      func() time.Time
	// Broken returns a channel that is closed once the server can no longer store anything. Put then fails immediately.
	// If Broken is nil (the default), Put does not notice such a failure.
	Broken func() <-chan struct{}
	// CacheBytes is the size in bytes of the cache for small originals put by this Store. Default 0.
	CacheBytes int
}

// config returns the object store's stream configuration.
func (o Options) config() jetstream.StreamConfig {
	cfg := jetstream.StreamConfig{
		Name:        streamName,
		Description: "raw content of datasources",
		Subjects:    []string{chunkPrefix + ">", metaPrefix + ">"},
		Storage:     jetstream.FileStorage,
		MaxBytes:    o.MaxBytes,
		Discard:     jetstream.DiscardNew,
		Replicas:    max(o.Replicas, 1),
		AllowRollup: true,
		AllowDirect: true, // content may be read from any server
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = -1
	}
	return cfg
}

// Store stores originals. It is safe for concurrent use and starts no goroutines of its own.
type Store struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	leader quorum.Reader
	opts   Options
	now    func() time.Time
	cache  *contentCache
}

// Open creates the store or updates its configuration. It fails with quorum.ErrReplicas if the cluster has too few
// servers.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	if _, _, err := quorum.Ensure(ctx, js, o.config()); err != nil {
		return nil, fmt.Errorf("creating the store of originals: %w", err)
	}
	return o.store(ctx, js)
}

// Repair recreates a store that was deleted or lost with its disk. It reports whether it created the store. Any number
// of processes may call it at once.
func (s *Store) Repair(ctx context.Context) (bool, error) {
	err := quorum.Retry(ctx, quorum.DefaultTimeout, func(ctx context.Context) error {
		_, err := s.js.Stream(ctx, streamName)
		return err
	})
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, err
	}
	_, created, err := quorum.Ensure(ctx, s.js, s.opts.config())
	if err != nil {
		return false, fmt.Errorf("recreating the store of originals: %w", err)
	}
	return created, nil
}

// How often Attach checks whether the store exists yet.
const attachInterval = 250 * time.Millisecond

// Attach opens the store created by another process, waiting for it until ctx is done. It is for worker processes.
func Attach(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	for {
		s, err := o.store(ctx, js)
		if err == nil || !errors.Is(err, quorum.ErrStreamLost) && !errors.Is(err, quorum.ErrUnavailable) {
			return s, err
		}
		if sleep.For(ctx, attachInterval) != nil {
			return nil, fmt.Errorf("waiting for the store of originals, which the api process creates: %w", err)
		}
	}
}

func (o Options) store(ctx context.Context, js jetstream.JetStream) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{js: js, leader: quorum.Reader{JS: js, Stream: streamName}, opts: o, now: o.Now, cache: newContentCache(o.CacheBytes, o.Now)}
	err := quorum.Retry(ctx, quorum.DefaultTimeout, func(ctx context.Context) (err error) {
		s.stream, err = js.Stream(ctx, streamName)
		return quorum.StreamError(streamName, err)
	})
	if err != nil {
		return nil, fmt.Errorf("opening the store of originals: %w", err)
	}
	return s, nil
}

// metaSubject returns the subject for a key's metadata.
func metaSubject(key string) string {
	return metaPrefix + base64.URLEncoding.EncodeToString([]byte(key))
}

// lookUp returns a key's metadata. It returns ErrNotFound only if the original is certain not to exist, because a job
// that needs the original ends when it gets ErrNotFound.
func (s *Store) lookUp(ctx context.Context, key string) (jetstream.ObjectInfo, error) {
	if _, err := DatasourceID(key); err != nil {
		return jetstream.ObjectInfo{}, err
	}
	subject := metaSubject(key)
	msg, err := s.leader.Last(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		// A leader that was cut off from the other servers may lack newer originals. After Sync, it has them.
		if err = s.leader.Sync(ctx, unusedSubject); err == nil {
			msg, err = s.leader.Last(ctx, subject)
		}
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return jetstream.ObjectInfo{}, fmt.Errorf("original %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return jetstream.ObjectInfo{}, fmt.Errorf("looking up original %s: %w", key, err)
	}
	info, err := decodeMeta(msg)
	if err == nil && info.Deleted { // a deletion marker from another client
		err = fmt.Errorf("original %s: %w", key, ErrNotFound)
	}
	return info, err
}

func decodeMeta(msg *jetstream.RawStreamMsg) (jetstream.ObjectInfo, error) {
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(msg.Data, &info); err != nil || info.NUID == "" {
		return info, fmt.Errorf("%w: metadata at sequence %d", ErrCorrupt, msg.Sequence)
	}
	info.ModTime = msg.Time
	return info, nil
}

// Each calls f for all originals that existed when it was called. It stops at the first error from f.
func (s *Store) Each(ctx context.Context, f func(key string, size int64, modTime time.Time) error) error {
	return s.eachMeta(ctx, func(info jetstream.ObjectInfo) error {
		return f(info.Name, int64(info.Size), info.ModTime)
	})
}

// Number of metadata messages per page.
const metaPage = 256

// eachMeta reads metadata in pages. The server keeps no state between pages, so f may be slow.
func (s *Store) eachMeta(ctx context.Context, f func(jetstream.ObjectInfo) error) error {
	return s.leader.Each(ctx, metaPrefix+">", 1, metaPage, func(page []*jetstream.RawStreamMsg) error {
		for _, msg := range page {
			info, err := decodeMeta(msg)
			if err != nil {
				return err
			}
			if info.Deleted {
				continue
			}
			if err := f(info); err != nil {
				return err
			}
		}
		return nil
	})
}

// Exists reports whether there is an original with this key. The result is up to date even just after the stream has
// elected a new leader.
func (s *Store) Exists(ctx context.Context, key string) (bool, error) {
	_, err := s.lookUp(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// purge removes a subject's messages.
func (s *Store) purge(ctx context.Context, subject string) error {
	return quorum.Retry(ctx, quorum.DefaultTimeout, func(ctx context.Context) error {
		return quorum.StreamError(streamName, s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)))
	})
}

// Delete removes an original. It returns nil if the original does not exist.
func (s *Store) Delete(ctx context.Context, key string) error {
	s.cache.take(key)
	info, err := s.lookUp(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	// Metadata first: Prune removes chunks without metadata, but metadata without chunks would be a broken object.
	if err := s.purge(ctx, metaSubject(key)); err != nil {
		return fmt.Errorf("deleting original %s: %w", key, err)
	}
	if err := s.purge(ctx, chunkPrefix+info.NUID); err != nil {
		return fmt.Errorf("deleting the content of original %s: %w", key, err)
	}
	return nil
}
