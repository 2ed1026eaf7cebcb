package jobs

import (
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
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
	Catalog           string        // id of the catalog whose jobs these are; "" is not checked
	Replicas          int           // of every stream, 1 to 5, at most the servers of the cluster; default 1. Existing streams are raised to it and never lowered.
	DuplicateWindow   time.Duration // in which a job id is taken once; default 10 min
	EventsMaxAge      time.Duration // default 7 days
	DeadLettersMaxAge time.Duration // default 90 days
	AttemptsTTL       time.Duration // how long the counts of an unfinished job outlive its last attempt; default 7 days
	JobsMaxBytes      int64         // default 0: as much as the disk takes; beyond it Publish fails with ErrFull
	EventsMaxBytes    int64         // default 0: as much as the disk takes; beyond it the oldest events go

	// Patience is how long a request is repeated while the servers elect who answers. Default 20 s.
	Patience time.Duration

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
	def(&o.Patience, quorum.Patience)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// allStreams are the streams that a Broker needs, in the order in which they are made.
var allStreams = []string{StreamJobs, StreamEvents, StreamDeadLetters, streamAttempts, StreamSchedules, streamTurns}

// config is how a stream is kept. JOBS, if it has to be made, begins with the generation.
func (o Options) config(stream string, first uint64) jetstream.StreamConfig {
	switch stream {
	case StreamJobs:
		return o.jobsConfig(first)
	case StreamEvents:
		return o.eventsConfig()
	case StreamDeadLetters:
		return o.deadLettersConfig()
	case StreamSchedules:
		return o.schedulesConfig()
	case streamTurns:
		return o.turnsConfig()
	}
	return o.attemptsConfig()
}

func (o Options) jobsConfig(first uint64) jetstream.StreamConfig {
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
		FirstSeq:          first,
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

// attemptsConfig is that of a key-value bucket.
func (o Options) attemptsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              streamAttempts,
		Description:       "attempts at unfinished jobs",
		Subjects:          []string{prefixAttempts + ">"},
		Storage:           jetstream.FileStorage,
		MaxAge:            o.AttemptsTTL,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardNew,
		Duplicates:        min(o.AttemptsTTL, 2*time.Minute),
		Replicas:          o.Replicas,
		AllowRollup:       true,
		DenyDelete:        true,
		AllowDirect:       true,
	}
}

func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}
