package originals

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Prune removes chunks that belong to no original. Such chunks are left behind if a process is killed during a Put or
// Delete. Prune returns the number of affected originals. It keeps chunks younger than twice MaxPutTime, whose Put may
// still be running.
func (s *Store) Prune(ctx context.Context) (int, error) {
	// Read chunks before metadata, so that the metadata is found for any original completed in between.
	var stray map[string]uint64
	err := quorum.Retry(ctx, quorum.DefaultTimeout, func(ctx context.Context) error {
		info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(chunkPrefix+"*"))
		if err == nil {
			stray = info.State.Subjects
		}
		return quorum.StreamError(streamName, err)
	})
	if err != nil {
		return 0, fmt.Errorf("listing chunks of originals: %w", err)
	}
	err = s.eachMeta(ctx, func(o jetstream.ObjectInfo) error {
		delete(stray, chunkPrefix+o.NUID)
		return nil
	})
	if err != nil {
		return 0, err
	}
	pruned := 0
	for subject := range stray {
		msg, err := s.leader.Last(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return pruned, fmt.Errorf("checking chunks without an original: %w", err)
		}
		if s.now().Sub(msg.Time) < 2*MaxPutTime {
			continue
		}
		if err := s.purge(ctx, subject); err != nil {
			return pruned, fmt.Errorf("removing chunks %s without an original: %w", strings.TrimPrefix(subject, chunkPrefix), err)
		}
		pruned++
	}
	return pruned, nil
}
