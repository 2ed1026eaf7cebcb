package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Largest messages, in bytes. Both lie below the server's default limit of 1 MiB with room for headers.
const (
	MaxJobBytes   = 256 << 10
	MaxEventBytes = 768 << 10
)

// maxDeadLetterBytes leaves room for the quoted job (base64 of one that cannot be read) and the error.
const maxDeadLetterBytes = 768 << 10

// Options say how the streams are kept. The zero value is the laptop shape.
type Options struct {
	// HighestGeneration is the highest generation that the catalog knows. A JOBS stream that is created starts
	// above it, and one that lags behind it (an older backup) is emptied and moved above it, so that generations
	// never repeat. See Broker.Reset.
	HighestGeneration uint64
	Replicas          int           // of every stream, 1 to 5; default 1
	DuplicateWindow   time.Duration // in which a job id is taken once; default 10 min
	EventsMaxAge      time.Duration // default 7 days
	DeadLettersMaxAge time.Duration // default 90 days
	AttemptsTTL       time.Duration // how long the counts of an unfinished job outlive its last attempt; default 7 days
	JobsMaxBytes      int64         // default 0: as much as the disk takes; beyond it Publish fails with ErrFull
	EventsMaxBytes    int64         // default 0: as much as the disk takes; beyond it the oldest events go

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if o.Replicas <= 0 {
		o.Replicas = 1
	}
	def(&o.DuplicateWindow, 10*time.Minute)
	def(&o.EventsMaxAge, 7*24*time.Hour)
	def(&o.DeadLettersMaxAge, 90*24*time.Hour)
	def(&o.AttemptsTTL, 7*24*time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func (o Options) jobsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        StreamJobs,
		Description: "the last job of each datasource",
		Subjects:    []string{prefixJobs + ".*.*.*"},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		// The default would drop the oldest jobs and say OK to the newest. It excludes message schedules, which the
		// server takes only on a stream that discards the oldest: schedules need a stream of their own.
		Discard:           jetstream.DiscardNew,
		MaxMsgsPerSubject: 1,
		MaxMsgSize:        MaxJobBytes,
		MaxBytes:          orUnlimited(o.JobsMaxBytes),
		Duplicates:        o.DuplicateWindow,
		Replicas:          o.Replicas,
		AllowDirect:       true,
		FirstSeq:          o.HighestGeneration + 1,
	}
}

func (o Options) eventsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        StreamEvents,
		Description: "what workers report",
		Subjects:    []string{prefixEvents + ".*.*"},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		MaxAge:      o.EventsMaxAge,
		MaxMsgSize:  MaxEventBytes,
		MaxBytes:    orUnlimited(o.EventsMaxBytes),
		Replicas:    o.Replicas,
		AllowDirect: true,
	}
}

func (o Options) deadLettersConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              StreamDeadLetters,
		Description:       "jobs that were given up",
		Subjects:          []string{prefixDeadLetters + ".*.*.*"},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		MaxAge:            o.DeadLettersMaxAge,
		MaxMsgsPerSubject: 1,
		MaxMsgSize:        maxDeadLetterBytes,
		Replicas:          o.Replicas,
		AllowDirect:       true,
	}
}

func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// ensureStream creates the stream or brings its configuration up to date, and reports whether it was created. The
// first sequence of a stream that exists is left alone.
func ensureStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.Stream, bool, error) {
	old, err := js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err := js.CreateStream(ctx, cfg)
		if err == nil {
			return s, true, nil
		}
		// Another process created it at the same moment: it exists now, so bring it up to date.
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil, false, fmt.Errorf("creating stream %s: %w", cfg.Name, err)
		}
		if old, err = js.Stream(ctx, cfg.Name); err != nil {
			return nil, false, fmt.Errorf("looking up stream %s: %w", cfg.Name, err)
		}
	} else if err != nil {
		return nil, false, fmt.Errorf("looking up stream %s: %w", cfg.Name, err)
	}
	cfg.FirstSeq = old.CachedInfo().Config.FirstSeq
	s, err := js.UpdateStream(ctx, cfg)
	if err != nil {
		return nil, false, fmt.Errorf("updating stream %s: %w", cfg.Name, err)
	}
	return s, false, nil
}
