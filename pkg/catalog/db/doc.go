// Package db is the database layer of the catalog: the engines SQLite and PostgreSQL, their dialects, transactions,
// group commit, notices between processes, locks, leases and migrations. It accesses only one table of the catalog,
// leases. The other packages of catalog import it. It imports cursor, and domain for errors.
//
// Every statement is written once, with ? as placeholder, in the SQL common to SQLite and PostgreSQL. Ids and JSON are
// stored as TEXT, times as BIGINT (microseconds since 1970), and flags as SMALLINT. SQLite has one connection for
// writes and a pool for reads; PostgreSQL has two pools and uses advisory locks. Temporary errors, which occur when the
// database is down or busy, have the code domain.CodeUnavailable.
package db
