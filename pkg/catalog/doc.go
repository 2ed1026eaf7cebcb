// Package catalog stores Sluice's metadata in SQL: workspaces, keys, agents, datastores, datasources, the job outbox,
// sweeps, conversations and usage. It is the only writer of a datasource's state. domain.Apply decides how a worker's
// event changes a datasource; the catalog stores the change together with its consequences in one transaction: the next
// job, new pages of a site, sweeps.
//
// # Location of a datasource's job
//
// The job of a datasource is in exactly one location. The datasource's row stores the location, and changes only
// together with the job:
//
//   - the outbox: a row of table outbox contains the job;
//   - the stream: the job was published and has not ended (the datasource is "in flight", see InFlight);
//   - nowhere: the datasource is synched, skipped or failed, or is a site that is waiting for its pages.
//
// To admit jobs, rescue lost jobs and detect the end of a site's crawl, the catalog therefore reads only small partial
// indexes, however many datasources there are.
//
// # Packages
//
// A Catalog combines small stores over one database:
//
//   - db: engines, transactions, group commit, notices, locks, leases and migrations; no table except that of leases;
//   - record: the rows of datastores, datasources, the outbox and sweeps, which other packages share;
//   - accounts: workspaces, keys, limits, usage, idempotency keys;
//   - conversations: conversations, messages, and the locks that order answers;
//   - files: files, uploads, batches and vector stores of OpenAI's clients;
//   - responses: responses and conversations of OpenAI's API;
//   - sites: the pages of a site: scope, duplicates, canonical addresses, the end of a crawl;
//   - pipeline: the outbox, events, sweeps, replays, moves, rescue;
//   - resources: datastores, datasources and agents as users see them;
//   - maintenance: snapshots, repairs, jobs taken over from the job log, audits.
//
// A method that takes a workspace id returns domain.NotFound for unknown ids and for ids from another workspace.
//
// # Moves
//
// A datastore serves readers from one place and may be moving to another. UpdateDatastore starts and cancels a move;
// IssueMoves and FinishMove carry it out. Code that depends on a datastore's place must take the datastore's lock in
// the same transaction.
package catalog
