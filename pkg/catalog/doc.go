// Package catalog keeps Sluice's metadata in SQL: workspaces, keys, agents, datastores, datasources, the outbox of
// jobs, sweeps, conversations, usage. It is the one writer of a datasource's state: what a worker's event means is
// decided by domain.Apply, and stored here together with everything that follows from it (the next job, child pages,
// sweeps) in one transaction.
//
// # Where a datasource's job is
//
// A datasource that waits for something is in exactly one place, kept in its row and changed only together with what
// it describes:
//
//   - the outbox: a row of table outbox holds its newest job;
//   - the stream: its job was published and has not ended (such datasources are "in flight", see InFlight);
//   - nowhere: it is synched, skipped or failed, or is a site that waits for its pages.
//
// So admission, rescue and the end of a site's crawl are lookups in small partial indexes, whatever the number of
// datasources.
//
// # Sites
//
// The frontier of a site's crawl is its pages: run_id tells which of them its newest crawl has asked for. A page that was
// fetched is judged against the others in the transaction that applies the event (see judge), so at most one of equal
// pages has content. What follows for many pages at once is a row of site_work, which WorkOnSite does in batches; a site
// is not settled while there is one.
//
// # Two engines
//
// Every statement is written once, with ? as placeholder and in the SQL that SQLite and PostgreSQL share: TEXT ids,
// times as BIGINT microseconds since 1970, flags as SMALLINT, JSON as TEXT, ON CONFLICT. With SQLite there is one
// connection for writes and a pool for reads; with PostgreSQL two pools, and locks that are taken in one order: see
// locks.go. A method that takes a workspace id answers domain.NotFound for what is unknown and for what belongs to
// another workspace. What fails because the database is away or busy has the code domain.CodeUnavailable.
//
// # Moves
//
// A datastore serves readers from one place and may be on its way to another: UpdateDatastore begins and cancels that,
// IssueMoves and FinishMove carry it out. Whatever depends on where a datastore is, passes its gate in the same
// transaction.
package catalog
