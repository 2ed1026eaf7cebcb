// Package jobs carries work and news between the processes of Sluice over NATS JetStream.
//
// These streams hold everything:
//
//	JOBS         jobs.<lane>.<datastore>.<datasource>         the last job of each datasource and lane
//	EVENTS       events.<datastore>.<datasource>              what workers report, seven days of it
//	DEADLETTERS  deadletters.<kind>.<datastore>.<datasource>  the last job that was given up, and why
//	SCHEDULES    schedules.<datastore>.<datasource>           when web content is fetched again
//	             due.<datastore>.<datasource>                 that it is time, put there by the servers
//	TURNS        turns.<hash of the host>                     when a host may be asked, and who is asking it: in memory
//
// JOBS is a log and a queue at once. A newer job replaces a waiting older one, an acknowledged job stays, and the
// sequence of a job's message is its generation: a number that only grows, which fences off older runs. Reading
// the log again (Broker.LastJobs) is how an index is rebuilt.
//
// Each lane (domain.Lane) has one durable consumer, which all its workers share; see ConsumerOf.
//
// Time is kept by the servers: they say when a datasource is due (SetSchedule, Due; NATS 2.14 or later, older servers keep
// no schedules and everything else works), and by their clock crawlers take turns at a host (Turns).
//
// The servers may be one within the process (package natsd) or a cluster. Streams then have replicas, and requests wait
// while the servers elect a leader (package quorum).
//
// Delivery is at least once. A handler may see a job twice, and an event may be applied twice; both are made
// harmless by deriving everything from the job and its generation.
//
// Only this package and package originals know NATS.
package jobs
