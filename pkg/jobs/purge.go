package jobs

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// PurgeDatasource removes a datasource's jobs of generations below the bound; with domain.AllGenerations all of them,
// and its events, dead letters and schedule too. A bound is for datasources whose id may come back, as a page's does: what was
// published since stays. A job that is running goes on; what it writes is for the sweep. Purging what is not there is
// no error.
func (b *Broker) PurgeDatasource(ctx context.Context, datastoreID, datasourceID string, below uint64) error {
	if err := checkIDs(datastoreID, datasourceID); err != nil {
		return err
	}
	if below == domain.AllGenerations {
		return b.purge(ctx, datastoreID, datasourceID)
	}
	return b.purgeBelow(ctx, everyLane(datastoreID, datasourceID), below)
}

// PurgeCrawls removes a datasource's crawl jobs of generations below the bound: jobs that have been withdrawn. One that is
// running goes on. Jobs of other kinds stay, the last of which tells what was indexed.
func (b *Broker) PurgeCrawls(ctx context.Context, datastoreID, datasourceID string, below uint64) error {
	if err := checkIDs(datastoreID, datasourceID); err != nil {
		return err
	}
	return b.purgeBelow(ctx, jobSubject(domain.LaneCrawl, datastoreID, datasourceID), below)
}

func (b *Broker) purgeBelow(ctx context.Context, subject string, below uint64) error {
	err := b.do(ctx, func(ctx context.Context) error {
		return quorum.Lost(StreamJobs, b.jobs.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(below)))
	})
	if err != nil {
		return fmt.Errorf("purging %s below generation %d: %w", subject, below, err)
	}
	return nil
}

// PurgeDatastore removes the jobs, events, dead letters and schedules of all datasources of a datastore.
func (b *Broker) PurgeDatastore(ctx context.Context, datastoreID string) error {
	if !domain.ValidID(datastoreID) {
		return fmt.Errorf("%w: datastore id %q", ErrInvalid, datastoreID)
	}
	return b.purge(ctx, datastoreID, "*")
}

func (b *Broker) purge(ctx context.Context, datastoreID, datasource string) error {
	// What makes others first: a schedule makes jobs by what it makes due, a job makes events.
	for _, p := range []struct {
		name, subject string
		stream        jetstream.Stream
	}{
		{StreamSchedules, scheduleSubject(datastoreID, datasource), b.schedules},
		{StreamSchedules, dueSubject(datastoreID, datasource), b.schedules},
		{StreamJobs, everyLane(datastoreID, datasource), b.jobs},
		{StreamEvents, prefixEvents + "." + datastoreID + "." + datasource, b.events},
		{StreamDeadLetters, prefixDeadLetters + ".*." + datastoreID + "." + datasource, b.deadLetters},
	} {
		err := b.do(ctx, func(ctx context.Context) error {
			return quorum.Lost(p.name, p.stream.Purge(ctx, jetstream.WithPurgeSubject(p.subject)))
		})
		if err != nil {
			return fmt.Errorf("purging %s from stream %s: %w", p.subject, p.name, err)
		}
	}
	return nil
}
