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

// Metadata keys of the JOBS stream.
const (
	metaCatalog      = "sluice-catalog"      // id of the catalog that owns the jobs
	metaFormat       = "sluice-format"       // version of the message format; 1 if missing
	metaInstallation = "sluice-installation" // id created with the first JOBS stream on these servers; later JOBS streams keep it
)

// formatVersion is the version of the message format in all streams. This program writes it and cannot read newer
// versions. Adding a field that older programs can ignore does not change the version.
const formatVersion = 1

// checkFormat fails with ErrNewer if this program does not know the streams' format.
func checkFormat(meta map[string]string) error {
	text := meta[metaFormat]
	if text == "" {
		return nil
	}
	if have, err := strconv.Atoi(text); err != nil || have > formatVersion {
		return fmt.Errorf("%w: it has format %.20q, but this program only reads formats up to %d; use the version that wrote it or a newer one", ErrNewer, text, formatVersion)
	}
	return nil
}

// Installation returns an id for the job log on these NATS servers. Processes that share a catalog must also share the
// job log, so they must all get the same id.
func (b *Broker) Installation() string { return b.installation }

// identify checks which catalog owns the jobs on the servers and fails with ErrForeign if it is another one. There is
// one exception: if no process is serving the other catalog, it is assumed to be lost, and a catalog that has never
// published a job takes over the streams.
func (b *Broker) identify(ctx context.Context, o Options) error {
	var meta map[string]string
	err := b.retry(ctx, func(ctx context.Context) error {
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
		return fmt.Errorf("checking which catalog owns the job log: %w", err)
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
		served, err := b.isServed(ctx)
		if err != nil {
			return err
		}
		if served {
			return fmt.Errorf("%w, whose api process is running: check NATS_URL, DATABASE_URL and the data directory", ErrForeign)
		}
		b.log.Warn("the job log belonged to another catalog that no process uses; this new catalog is taking it over", "catalog_before", owner)
	}
	return nil
}

const (
	// subjectServed is the subject for asking which catalog is being served. Each process that applies a catalog's
	// events responds with that catalog's id.
	subjectServed = "sluice.catalog.served"
	servedTimeout = 2 * time.Second
)

// answerServed responds to requests on subjectServed until `stop` is called.
func (b *Broker) answerServed() (stop func(), err error) {
	sub, err := b.conn.nc.Subscribe(subjectServed, func(m *nats.Msg) {
		if err := m.Respond([]byte(b.catalog)); err != nil {
			b.log.Debug("could not report that the catalog is served", "error", err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribing to requests for the served catalog: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails only if the connection is closed
}

// isServed reports whether an api process is running. It first asks on subjectServed, which only older versions don't
// answer. If there is no answer, it checks whether a process is waiting for events. That detects older versions too,
// but not reliably: a process that is busy applying events isn't waiting for more.
func (b *Broker) isServed(ctx context.Context) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	switch _, err := b.conn.nc.RequestWithContext(asking, subjectServed, nil); {
	case err == nil:
		return true, nil
	case errors.Is(err, nats.ErrNoResponders):
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return false, fmt.Errorf("%w, and Sluice could not find out whether its api process is running: no response on subject %s within %v "+
			"(the process hangs, or NATS denies this account the request)", ErrForeign, subjectServed, servedTimeout)
	default:
		return false, fmt.Errorf("checking whether an api process is running: %w", err)
	}
	waiting := false // whether an older api process, which does not answer on subjectServed, is waiting for events
	err := b.retry(ctx, func(ctx context.Context) error {
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
		return false, fmt.Errorf("reading the state of the consumer for events: %w", err)
	}
	return waiting, nil
}

// configOf returns a stream's configuration with the owner's id added.
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
