// Package db is the database layer of the catalog: the engines SQLite and PostgreSQL, their dialects, transactions,
// group commit, notices between processes, locks, leases and migrations. The only table it accesses is leases. The
// other packages of the catalog import it. It imports cursor, and domain for errors.
//
// Every statement is written once, with ? placeholders, in the SQL common to SQLite and PostgreSQL. Ids and JSON are
// stored as TEXT, times as BIGINT (microseconds since 1970), and flags as SMALLINT. SQLite has one connection for
// writes and a pool for reads; PostgreSQL has two pools and uses advisory locks. Temporary errors have the code
// domain.CodeUnavailable: the database is down or busy.
package db
