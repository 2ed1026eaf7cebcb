// Package originals keeps raw content, uploads and fetched pages, in a JetStream object store. An original is
// written once under a key of its own and never changed.
//
// The store has the layout of NATS's object stores, so that the nats command reads it: chunks on a subject of their
// own, and one message of metadata that makes them an object. The package writes that layout itself. The client's
// Put sends up to 4,000 chunks before it looks at an answer, sends the metadata before the chunks are safe, leaves
// chunks behind when its context ends, and turns every short read of a network body into a message.
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
)

// Bucket is the name of the object store.
const Bucket = "originals"

const (
	streamName  = "OBJ_" + Bucket
	chunkPrefix = "$O." + Bucket + ".C."
	metaPrefix  = "$O." + Bucket + ".M."
	// unused is a subject that never has a message: no Put makes such an id.
	unused = chunkPrefix + "none"
)

// Options say how the store is kept. The zero value is the laptop shape.
type Options struct {
	Replicas int   // 1 to 5, at most the servers of the cluster; default 1. It may be changed.
	MaxBytes int64 // of all originals; default 0: as much as the disk takes
	Now      func() time.Time
	// Broken gives a channel that is closed while the server is known to store nothing: a Put does not wait for it then.
	// Default nil: that is not known.
	Broken func() <-chan struct{}
	// Keep is how many bytes of small originals that this Store has put are kept in memory until they are taken. Default 0.
	Keep int
}

// config is that of an object store.
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
		AllowDirect: true, // content is read from whatever server answers
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = -1
	}
	return cfg
}

// Store holds originals. It is safe for concurrent use and owns no goroutine.
type Store struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	leader quorum.Reader
	opts   Options
	now    func() time.Time
	recent *recent
}

// Open makes the store or brings its configuration up to date. It fails with quorum.ErrReplicas if the cluster is too
// small.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	if _, _, err := quorum.Ensure(ctx, js, o.config()); err != nil {
		return nil, fmt.Errorf("making the store of originals: %w", err)
	}
	return o.store(ctx, js)
}

// Repair makes the store again if it was deleted, or lost with its disk, while processes run, and reports whether it did.
// It changes nothing while all is well, and any number of processes may call it at once.
func (s *Store) Repair(ctx context.Context) (bool, error) {
	err := quorum.Do(ctx, quorum.Patience, func(ctx context.Context) error {
		_, err := s.js.Stream(ctx, streamName)
		return err
	})
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, err
	}
	_, created, err := quorum.Ensure(ctx, s.js, s.opts.config())
	if err != nil {
		return false, fmt.Errorf("making the store of originals again: %w", err)
	}
	return created, nil
}

// attachInterval is how often Attach looks for a store that is not there yet.
const attachInterval = 250 * time.Millisecond

// Attach finds the store that Open makes, waiting for it until ctx ends: for worker processes.
func Attach(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	for {
		s, err := o.store(ctx, js)
		if err == nil || !errors.Is(err, quorum.ErrStreamLost) && !errors.Is(err, quorum.ErrUnavailable) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the store that the api process makes: %w", err)
		case <-time.After(attachInterval):
		}
	}
}

func (o Options) store(ctx context.Context, js jetstream.JetStream) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{js: js, leader: quorum.Reader{JS: js, Stream: streamName}, opts: o, now: o.Now, recent: newRecent(o.Keep, o.Now)}
	err := quorum.Do(ctx, quorum.Patience, func(ctx context.Context) (err error) {
		s.stream, err = js.Stream(ctx, streamName)
		return quorum.Lost(streamName, err)
	})
	if err != nil {
		return nil, fmt.Errorf("opening the store of originals: %w", err)
	}
	return s, nil
}

// metaSubject is where the metadata of a key lie.
func metaSubject(key string) string {
	return metaPrefix + base64.URLEncoding.EncodeToString([]byte(key))
}

// lookUp returns the metadata of a key, or ErrNotFound. It is certain: a job whose original is not found ends for good.
func (s *Store) lookUp(ctx context.Context, key string) (jetstream.ObjectInfo, error) {
	if _, err := DatasourceID(key); err != nil {
		return jetstream.ObjectInfo{}, err
	}
	subject := metaSubject(key)
	msg, err := s.leader.Last(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		// A leader that was cut off from the others does not know yet what they have stored since.
		if err = s.leader.Agree(ctx, unused); err == nil {
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
	if err == nil && info.Deleted { // a marker that another client left
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

// Each calls f for every original that was stored when Each was called, until f fails.
func (s *Store) Each(ctx context.Context, f func(key string, size int64, modTime time.Time) error) error {
	return s.eachMeta(ctx, func(info jetstream.ObjectInfo) error {
		return f(info.Name, int64(info.Size), info.ModTime)
	})
}

// metaPage is how many originals' metadata are in memory at once.
const metaPage = 256

// eachMeta reads metadata a page at a time: nothing is kept at the server, and f may take its time.
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

// Exists reports whether there is an original of that key. It is certain.
func (s *Store) Exists(ctx context.Context, key string) (bool, error) {
	_, err := s.lookUp(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// purge removes the messages of a subject.
func (s *Store) purge(ctx context.Context, subject string) error {
	return quorum.Do(ctx, quorum.Patience, func(ctx context.Context) error {
		return quorum.Lost(streamName, s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject)))
	})
}

// Delete removes an original. One that is not there is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	s.recent.take(key)
	info, err := s.lookUp(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	// The metadata first: chunks without metadata are what Prune removes, metadata without chunks is a broken object.
	if err := s.purge(ctx, metaSubject(key)); err != nil {
		return fmt.Errorf("deleting original %s: %w", key, err)
	}
	if err := s.purge(ctx, chunkPrefix+info.NUID); err != nil {
		return fmt.Errorf("deleting the content of original %s: %w", key, err)
	}
	return nil
}
