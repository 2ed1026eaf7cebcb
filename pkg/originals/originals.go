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
)

// Bucket is the name of the object store.
const Bucket = "originals"

const (
	streamName  = "OBJ_" + Bucket
	chunkPrefix = "$O." + Bucket + ".C."
	metaPrefix  = "$O." + Bucket + ".M."
)

// Options say how the store is kept. The zero value is the laptop shape.
type Options struct {
	Replicas int   // 1 to 5; default 1
	MaxBytes int64 // of all originals; default 0: as much as the disk takes
	Now      func() time.Time
}

// Store holds originals. It is safe for concurrent use and owns no goroutine.
type Store struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	now    func() time.Time
}

// Open makes the store or brings its configuration up to date.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	_, err := js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket:      Bucket,
		Description: "raw content of datasources",
		Storage:     jetstream.FileStorage,
		Replicas:    max(o.Replicas, 1),
		MaxBytes:    o.MaxBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("making the store of originals: %w", err)
	}
	return o.store(ctx, js)
}

// attachInterval is how often Attach looks for a store that is not there yet.
const attachInterval = 250 * time.Millisecond

// Attach finds the store that Open makes, waiting for it until ctx ends: for worker processes.
func Attach(ctx context.Context, js jetstream.JetStream, o Options) (*Store, error) {
	for {
		s, err := o.store(ctx, js)
		if err == nil || !errors.Is(err, jetstream.ErrStreamNotFound) {
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
	stream, err := js.Stream(ctx, streamName)
	if err != nil {
		return nil, fmt.Errorf("opening the store of originals: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{js: js, stream: stream, now: o.Now}, nil
}

// metaSubject is where the metadata of a key lie.
func metaSubject(key string) string {
	return metaPrefix + base64.URLEncoding.EncodeToString([]byte(key))
}

// lookUp returns the metadata of a key, or ErrNotFound.
func (s *Store) lookUp(ctx context.Context, key string) (jetstream.ObjectInfo, error) {
	if _, err := DatasourceID(key); err != nil {
		return jetstream.ObjectInfo{}, err
	}
	msg, err := s.stream.GetLastMsgForSubject(ctx, metaSubject(key))
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

// eachMeta reads metadata one message at a time: no consumer to clean up, and f may take its time.
func (s *Store) eachMeta(ctx context.Context, f func(jetstream.ObjectInfo) error) error {
	end, err := s.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("asking for the end of the store of originals: %w", err)
	}
	for next := uint64(1); next <= end.State.LastSeq; {
		msg, err := s.stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(metaPrefix+">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing originals: %w", err)
		}
		if msg.Sequence > end.State.LastSeq {
			return nil
		}
		next = msg.Sequence + 1
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
}

// Delete removes an original. One that is not there is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	info, err := s.lookUp(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	// The metadata first: chunks without metadata are what Prune removes, metadata without chunks is a broken object.
	if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(metaSubject(key))); err != nil {
		return fmt.Errorf("deleting original %s: %w", key, err)
	}
	if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(chunkPrefix+info.NUID)); err != nil {
		return fmt.Errorf("deleting the content of original %s: %w", key, err)
	}
	return nil
}
