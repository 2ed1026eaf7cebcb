// Package catalog stores Sluice's metadata in SQL: workspaces, keys, agents, datastores, datasources, the job outbox,
// sweeps, conversations and usage. It is the only writer of a datasource's state. domain.Apply decides how a worker's
// event changes a datasource. In one transaction, the catalog stores that change together with its consequences: the
// next job, new pages for a site, and sweeps.
//
// # Location of a datasource's job
//
// A datasource's job is always in exactly one location. The location is stored in the datasource's row, and both the
// location and the job change in the same transaction:
//
//   - the outbox: a row in the outbox table contains the job;
//   - the stream: the job was published and has not ended (the datasource is "in flight", see InFlight);
//   - nowhere: the datasource is synched, skipped or failed, or is a site waiting for its pages.
//
// The catalog therefore needs to read only small partial indexes to admit jobs, rescue lost jobs and detect the end of
// a site's crawl, no matter how many datasources there are.
//
// # Packages
//
// A Catalog combines small stores on top of one database. Imports go one way: each of these packages may import only
// those listed before it.
//
//   - db: engines, transactions, group commit, notices, locks, leases and migrations; its only table is leases;
//   - record: the rows for datastores, datasources, the outbox and sweeps, which other packages share;
//   - accounts: workspaces, keys, limits, usage, idempotency keys;
//   - conversations: conversations, messages, and the locks that order answers;
//   - files: OpenAI clients' files, uploads, batches and vector stores;
//   - responses: responses and conversations in OpenAI's API;
//   - sites: a site's pages: scope, duplicates, canonical addresses, the end of a crawl;
//   - pipeline: the outbox, events, sweeps, replays, moves, rescue;
//   - resources: datastores, datasources and agents as users see them;
//   - maintenance: snapshots, repairs, jobs adopted from the job log, audits.
//
// A method that takes a workspace id returns domain.NotFound both for unknown ids and for ids from other workspaces.
//
// # Moves
//
// A datastore serves readers from one place and may be moving to another. UpdateDatastore starts and cancels a move;
// IssueMoves and FinishMove carry it out. Code that depends on a datastore's place must take the datastore's lock in
// the same transaction.
package catalog
