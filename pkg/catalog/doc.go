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
// # Packages
//
// A Catalog is composed of small stores over one database. Imports go one way, from the last of these to the first:
//
//   - db: engines, transactions, group commit, notices, locks, leases and migrations; no table of the catalog;
//   - record: the rows of datastores, datasources, the outbox and sweeps, which other packages share;
//   - accounts: workspaces, keys, limits, usage, idempotency keys;
//   - conversations: conversations, messages, turns;
//   - sites: the pages of a site: scope, duplicates, canonical addresses, the end of a crawl;
//   - pipeline: the outbox, events, sweeps, replays, moves, rescue;
//   - resources: datastores, datasources and agents as users see them;
//   - maintenance: snapshots, repairs, takeovers from the job log, audits.
//
// A method that takes a workspace id answers domain.NotFound for unknown ids and for those of another workspace.
//
// # Moves
//
// A datastore serves readers from one place and may be on its way to another: UpdateDatastore begins and cancels that,
// IssueMoves and FinishMove carry it out. Whatever depends on where a datastore is, passes its gate in the same
// transaction.
package catalog
