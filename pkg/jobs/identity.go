package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Keys of the metadata of JOBS.
const (
	metaCatalog      = "sluice-catalog"      // the catalog whose jobs these are
	metaFormat       = "sluice-format"       // of messages, as a number; without: 1
	metaInstallation = "sluice-installation" // made with the first JOBS on these servers, and kept when it is made again
)

// formatVersion is the version of what messages of all streams hold, and the newest that this program reads. Fields that older
// programs may ignore do not change it.
const formatVersion = 1

// checkFormat refuses streams whose messages this program would misunderstand.
func checkFormat(meta map[string]string) error {
	text := meta[metaFormat]
	if text == "" {
		return nil
	}
	if have, err := strconv.Atoi(text); err != nil || have > formatVersion {
		return fmt.Errorf("%w: it has format %.20q, this program knows formats up to %d: use that version, or a newer one", ErrNewer, text, formatVersion)
	}
	return nil
}

// Installation names the NATS servers' job log: processes that share a catalog must share it too.
func (b *Broker) Installation() string { return b.installation }

// identify finds out whose jobs the servers hold. Jobs of another catalog are left alone, with ErrForeign; but a catalog
// that has never published anything takes over what nobody serves any more: its predecessor was lost.
func (b *Broker) identify(ctx context.Context, o Options) error {
	var meta map[string]string
	err := b.do(ctx, func(ctx context.Context) error {
		stream, err := b.js.Stream(ctx, StreamJobs)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err == nil {
			meta = stream.CachedInfo().Config.Metadata
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("asking whose jobs the servers hold: %w", err)
	}
	if err := checkFormat(meta); err != nil {
		return err
	}
	if b.installation = meta[metaInstallation]; b.installation == "" {
		b.installation = domain.NewID()
	}
	b.catalog = o.Catalog
	owner := meta[metaCatalog]
	switch {
	case b.catalog == "":
		b.catalog = owner
	case owner == "" || owner == b.catalog:
	case o.HighestGeneration > 0:
		return fmt.Errorf("%w: check NATS_URL, DATABASE_URL and the data directory", ErrForeign)
	default:
		served, err := b.served(ctx)
		if err != nil {
			return err
		}
		if served {
			return fmt.Errorf("%w, and an api process of it is at work: check NATS_URL, DATABASE_URL and the data directory", ErrForeign)
		}
		b.log.Warn("this catalog is new and takes over the jobs of one that nobody serves any more", "catalog_before", owner)
	}
	return nil
}

const (
	// subjectServed is where every process that applies events to a catalog answers, with the catalog's ID.
	subjectServed = "sluice.catalog.served"
	servedTimeout = 2 * time.Second
)

// answerServed lets others know that the catalog is served, until stop is called.
func (b *Broker) answerServed() (stop func(), err error) {
	sub, err := b.conn.nc.Subscribe(subjectServed, func(m *nats.Msg) {
		if err := m.Respond([]byte(b.catalog)); err != nil {
			b.log.Debug("saying that the catalog is served", "error", err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listening to who asks whether the catalog is served: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails only on a connection that is closed
}

// served reports whether an api process is at work. It is asked itself, and not only whether the consumer of events has
// somebody waiting: nobody waits while events are applied, which takes as long as the catalog's database is down.
func (b *Broker) served(ctx context.Context) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	switch _, err := b.conn.nc.RequestWithContext(asking, subjectServed, nil); {
	case err == nil:
		return true, nil
	case errors.Is(err, nats.ErrNoResponders):
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return false, fmt.Errorf("%w, and whether an api process of it is at work is not known: no answer on subject %s in %v "+
			"(it hangs, or NATS does not permit this account to ask)", ErrForeign, subjectServed, servedTimeout)
	default:
		return false, fmt.Errorf("asking whether an api process is at work: %w", err)
	}
	waiting := false // one of a version that does not answer
	err := b.do(ctx, func(ctx context.Context) error {
		consumer, err := b.js.Consumer(ctx, StreamEvents, ConsumerCatalog)
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err == nil {
			waiting = consumer.CachedInfo().NumWaiting > 0
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("asking who reads events: %w", err)
	}
	return waiting, nil
}

// configOf is how a stream is kept, with whose it is.
func (b *Broker) configOf(stream string, first uint64) jetstream.StreamConfig {
	cfg := b.opts.config(stream, first)
	if stream == StreamJobs {
		cfg.Metadata = map[string]string{metaInstallation: b.installation, metaFormat: strconv.Itoa(formatVersion)}
		if b.catalog != "" {
			cfg.Metadata[metaCatalog] = b.catalog
		}
	}
	return cfg
}
