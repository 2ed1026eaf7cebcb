package jobs

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Maximum sizes of jobs and events in bytes. Even with headers, these messages stay below the server's default limit of
// 1 MiB.
const (
	MaxJobBytes   = 256 << 10
	MaxEventBytes = 768 << 10
)

// maxDeadLetterBytes is the maximum size of a dead letter in bytes. A dead letter contains the error and the job, which
// is encoded in base64 if it is invalid.
const maxDeadLetterBytes = 768 << 10

// Options configure the streams. The zero value suits a single embedded server.
type Options struct {
	// HighestGeneration is the highest generation known to the catalog. A new JOBS stream starts above it. An existing
	// one that lags behind, for example because it comes from an older backup, is emptied and also continues above it,
	// so that generations never repeat. See Broker.Reset.
	HighestGeneration uint64
	Catalog           string // id of the catalog that owns the jobs; "": not checked
	// Replicas is the number of replicas per stream, from 1 to 5. It cannot exceed the number of servers. Default 1.
	// Open raises an existing stream's number of replicas but never lowers it.
	Replicas          int
	DuplicateWindow   time.Duration // how long a job id is remembered, so that it is stored only once; default 10 min
	EventsMaxAge      time.Duration // default 7 days
	DeadLettersMaxAge time.Duration // default 90 days
	AttemptsTTL       time.Duration // how long to keep an unfinished job's counts after its last attempt; default 7 days
	JobsMaxBytes      int64         // when reached, Publish fails with ErrFull; default 0: no limit
	EventsMaxBytes    int64         // when reached, the oldest events are dropped; default 0: no limit

	// RetryTimeout is how long to retry a request while the servers elect a leader. Default 20 s.
	RetryTimeout time.Duration

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
	def(&o.RetryTimeout, quorum.DefaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// allStreams lists a Broker's streams in order of creation.
var allStreams = []string{StreamJobs, StreamEvents, StreamDeadLetters, streamAttempts, StreamSchedules, streamSlots}

// config returns a stream's configuration. `first` is the first sequence of a new JOBS stream.
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
	case streamSlots:
		return o.slotsConfig()
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
		// The default, DiscardOld, would silently drop the oldest jobs. Message schedules work only with DiscardOld, so
		// they have their own stream.
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
		Description: "reports from workers",
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
		Description:       "abandoned jobs",
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

// attemptsConfig returns the configuration for the stream of attempt counts, which is laid out as a key-value bucket.
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
