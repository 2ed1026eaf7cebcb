package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// ErrNoSchedules means that the NATS servers are too old for schedules. Everything else works.
var ErrNoSchedules = errors.New("jobs: these NATS servers do not support recurring message schedules: upgrade them to 2.14 or later and restart the api processes")

// Schedule is a datasource's refresh schedule.
type Schedule struct {
	DatastoreID, DatasourceID string
	Pattern                   string // in the format that domain.Refresh.Schedule returns
}

const (
	// Number of schedules read at a time.
	schedulesPage = 500
	// Maximum size of a SCHEDULES message, in bytes. These messages consist only of headers.
	maxScheduleBytes = 4 << 10
)

// SetSchedule sets a datasource's refresh schedule, replacing the previous one. The zero Refresh removes it. Setting a
// schedule restarts its interval, even if the interval is unchanged. If several due times pass while the servers are
// down, the datasource becomes due once, soon after they are back. Datasources given the same interval at the same time
// also become due together; the dispatcher's window admits their jobs gradually.
//
// SetSchedule fails with ErrInvalid or ErrNoSchedules, or for the same reasons as Publish.
func (b *Broker) SetSchedule(ctx context.Context, datastoreID, datasourceID string, r domain.Refresh) error {
	if r.IsZero() {
		return b.RemoveSchedule(ctx, datastoreID, datasourceID)
	}
	return b.setSchedule(ctx, datastoreID, datasourceID, r.Schedule())
}

func (b *Broker) setSchedule(ctx context.Context, datastoreID, datasourceID, pattern string) error {
	if err := checkIDs(datastoreID, datasourceID); err != nil {
		return err
	}
	// Older servers store the message without scheduling it, or reject a pattern they don't support.
	if !b.schedules.CachedInfo().Config.AllowMsgSchedules {
		return ErrNoSchedules
	}
	msg := &nats.Msg{Subject: scheduleSubject(datastoreID, datasourceID), Header: nats.Header{}}
	msg.Header.Set(jetstream.ScheduleHeader, pattern)
	msg.Header.Set(jetstream.ScheduleTargetHeader, dueSubject(datastoreID, datasourceID))
	_, err := b.store(ctx, StreamSchedules, nuid.Next(), msg)
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) {
		switch api.ErrorCode {
		case jetstream.JSErrCodeSchedulePatternInvalid, jetstream.JSErrCodeMessageSchedulesDisabled:
			err = fmt.Errorf("%w: %w", ErrNoSchedules, err)
		}
	}
	if err != nil {
		return fmt.Errorf("setting the schedule of datasource %s to %q: %w", datasourceID, pattern, err)
	}
	return nil
}

// RemoveSchedule removes a datasource's schedule and any unread due message. It returns nil if there is no schedule.
func (b *Broker) RemoveSchedule(ctx context.Context, datastoreID, datasourceID string) error {
	if err := checkIDs(datastoreID, datasourceID); err != nil {
		return err
	}
	for _, subject := range []string{scheduleSubject(datastoreID, datasourceID), dueSubject(datastoreID, datasourceID)} {
		err := b.retry(ctx, func(ctx context.Context) error {
			return quorum.StreamError(StreamSchedules, b.schedules.Purge(ctx, jetstream.WithPurgeSubject(subject)))
		})
		if err != nil {
			return fmt.Errorf("removing %s from stream %s: %w", subject, StreamSchedules, err)
		}
	}
	return nil
}

// Schedules calls f for every schedule that existed when it was called, until f fails.
func (b *Broker) Schedules(ctx context.Context, f func(Schedule) error) error {
	err := b.leader(StreamSchedules).Each(ctx, scheduleSubject("*", "*"), 1, schedulesPage, func(page []*jetstream.RawStreamMsg) error {
		for _, msg := range page {
			parts := strings.Split(msg.Subject, ".")
			if len(parts) != 3 {
				continue
			}
			s := Schedule{DatastoreID: parts[1], DatasourceID: parts[2], Pattern: msg.Header.Get(jetstream.ScheduleHeader)}
			if err := f(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the schedules: %w", err)
	}
	return nil
}

// schedulesConfig returns the configuration for SCHEDULES. A datasource has at most one schedule and one due message.
// If it becomes due again before that message is read, the new message replaces it.
func (o Options) schedulesConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              StreamSchedules,
		Description:       "refresh schedules of web content, and due refreshes",
		Subjects:          []string{scheduleSubject("*", "*"), dueSubject("*", "*")},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardOld, // the server requires it for message schedules
		MaxMsgsPerSubject: 1,
		MaxMsgSize:        maxScheduleBytes,
		Replicas:          o.Replicas,
		AllowRollup:       true, // required for message schedules
		AllowDirect:       true,
		AllowMsgSchedules: true,
	}
}
