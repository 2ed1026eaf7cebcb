package jobs

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// PurgeDatasource removes a datasource's jobs with generations lower than `below`. If `below` is domain.AllGenerations,
// it removes the datasource's schedule and all of its jobs, events and dead letters. For ids that may be reused, such
// as page ids, pass the first generation to keep instead. If a job is running, it continues, and a sweep removes what
// it writes. PurgeDatasource returns nil if there is nothing to remove.
func (b *Broker) PurgeDatasource(ctx context.Context, datastoreID, datasourceID string, below uint64) error {
	if err := checkIDs(datastoreID, datasourceID); err != nil {
		return err
	}
	if below == domain.AllGenerations {
		return b.purge(ctx, datastoreID, datasourceID)
	}
	return b.purgeBelow(ctx, allLanesFilter(datastoreID, datasourceID), below)
}

// PurgeCrawls removes a datasource's cancelled crawl jobs with generations lower than `below`. If a job is running, it
// continues. Jobs of other kinds stay, because the last one of them records which content was indexed.
func (b *Broker) PurgeCrawls(ctx context.Context, datastoreID, datasourceID string, below uint64) error {
	if err := checkIDs(datastoreID, datasourceID); err != nil {
		return err
	}
	return b.purgeBelow(ctx, jobSubject(domain.LaneCrawl, datastoreID, datasourceID), below)
}

func (b *Broker) purgeBelow(ctx context.Context, subject string, below uint64) error {
	err := b.retry(ctx, func(ctx context.Context) error {
		return quorum.StreamError(StreamJobs, b.jobs.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(below)))
	})
	if err != nil {
		return fmt.Errorf("purging %s below generation %d: %w", subject, below, err)
	}
	return nil
}

// PurgeDatastore removes the jobs, events, dead letters and schedules of all datasources in a datastore.
func (b *Broker) PurgeDatastore(ctx context.Context, datastoreID string) error {
	if !domain.ValidID(datastoreID) {
		return fmt.Errorf("%w: datastore id %q", ErrInvalid, datastoreID)
	}
	return b.purge(ctx, datastoreID, "*")
}

func (b *Broker) purge(ctx context.Context, datastoreID, datasource string) error {
	// Remove causes before effects: a schedule makes datasources due, which creates jobs, which emit events.
	for _, p := range []struct {
		name, subject string
		stream        jetstream.Stream
	}{
		{StreamSchedules, scheduleSubject(datastoreID, datasource), b.schedules},
		{StreamSchedules, dueSubject(datastoreID, datasource), b.schedules},
		{StreamJobs, allLanesFilter(datastoreID, datasource), b.jobs},
		{StreamEvents, prefixEvents + "." + datastoreID + "." + datasource, b.events},
		{StreamDeadLetters, prefixDeadLetters + ".*." + datastoreID + "." + datasource, b.deadLetters},
	} {
		err := b.retry(ctx, func(ctx context.Context) error {
			return quorum.StreamError(p.name, p.stream.Purge(ctx, jetstream.WithPurgeSubject(p.subject)))
		})
		if err != nil {
			return fmt.Errorf("purging %s from stream %s: %w", p.subject, p.name, err)
		}
	}
	return nil
}
