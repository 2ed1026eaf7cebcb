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

// ErrNoSchedules says that the NATS servers are too old to keep schedules. Everything else works without.
var ErrNoSchedules = errors.New("jobs: these NATS servers do not know recurring message schedules: upgrade them to 2.14 or later and restart the api processes")

// Schedule is that a datasource becomes due again and again.
type Schedule struct {
	DatastoreID, DatasourceID string
	Pattern                   string // as domain.Refresh.Schedule writes it
}

const (
	// schedulesPage is how many schedules are read at a time.
	schedulesPage = 500
	// maxScheduleBytes bounds a message of SCHEDULES: headers only.
	maxScheduleBytes = 4 << 10
)

// SetSchedule has a datasource become due whenever r says so, instead of what was set before; the zero Refresh removes the
// schedule. An interval begins anew even if it was set before. When the servers were down over several times, it becomes
// due once, soon after. Many schedules may be set at once: those of the same interval then become due together, and the
// dispatcher's window admits what follows bit by bit.
//
// It fails with ErrInvalid, ErrNoSchedules, and otherwise like Publish.
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
	// Older servers take the message for one like any other, or refuse a pattern that they do not know.
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

// RemoveSchedule has a datasource never become due again, what is due already included. Removing what is not there is no
// error.
func (b *Broker) RemoveSchedule(ctx context.Context, datastoreID, datasourceID string) error {
	if err := checkIDs(datastoreID, datasourceID); err != nil {
		return err
	}
	for _, subject := range []string{scheduleSubject(datastoreID, datasourceID), dueSubject(datastoreID, datasourceID)} {
		err := b.do(ctx, func(ctx context.Context) error {
			return quorum.Lost(StreamSchedules, b.schedules.Purge(ctx, jetstream.WithPurgeSubject(subject)))
		})
		if err != nil {
			return fmt.Errorf("removing %s from stream %s: %w", subject, StreamSchedules, err)
		}
	}
	return nil
}

// Schedules calls f for every schedule that there is when it is called, until f fails.
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

// schedulesConfig is how schedules are kept, and what is due. A datasource has one message of each at most: one that is due
// several times before somebody looks is due once.
func (o Options) schedulesConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              StreamSchedules,
		Description:       "when web content is fetched again, and what is due",
		Subjects:          []string{scheduleSubject("*", "*"), dueSubject("*", "*")},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardOld, // the server keeps schedules in no other stream
		MaxMsgsPerSubject: 1,
		MaxMsgSize:        maxScheduleBytes,
		Replicas:          o.Replicas,
		AllowRollup:       true, // likewise
		AllowDirect:       true,
		AllowMsgSchedules: true,
	}
}
