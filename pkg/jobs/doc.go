// Package jobs passes jobs and events between Sluice's processes over NATS JetStream.
//
// It uses these streams:
//
//	JOBS         jobs.<lane>.<datastore>.<datasource>         the last job for each datasource and lane
//	EVENTS       events.<datastore>.<datasource>              reports from workers, kept for seven days
//	DEADLETTERS  deadletters.<kind>.<datastore>.<datasource>  the last abandoned job, with the reason
//	SCHEDULES    schedules.<datastore>.<datasource>           the refresh schedule of web content
//	             due.<datastore>.<datasource>                 a due refresh, published by the servers
//	TURNS        turns.<hash of the host>                     the state of a host: when it may be requested next, and its slots; in memory
//
// JOBS is both a log and a queue. A newer job replaces an older one that is still queued. An acknowledged job stays in
// the stream, so an index can be rebuilt by replaying the log (Broker.LastJobs). A job's generation is the sequence
// number of its message. Generations only grow, so results from older jobs can be recognised and discarded.
//
// Each lane (domain.Lane) has one durable consumer shared by all its workers; see ConsumerOf.
//
// The servers keep the time. They publish a message when a datasource is due for a refresh (SetSchedule, Due). This
// requires NATS 2.14 or later; everything else also works with older servers. Their clock also times crawlers' requests
// to a host (HostSlots).
//
// The server may be embedded in the process (package natsd) or be a cluster. In a cluster, streams have replicas, and
// requests wait while the servers elect a leader (package quorum).
//
// Delivery is at-least-once: a handler may receive a job twice, and an event may be applied twice. Both are harmless,
// because all results depend only on the job and its generation.
//
// Only this package and package originals import NATS.
package jobs
