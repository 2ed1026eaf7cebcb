// Package db is the catalog's database layer: the SQLite and PostgreSQL engines, their dialects, transactions, group
// commit, notices between processes, locks, leases and migrations. The only table it accesses is leases. It imports
// cursor and domain (for errors); the catalog's other packages import it.
//
// Every statement is written once, with ? placeholders, in SQL that works on both SQLite and PostgreSQL. Ids and JSON
// are stored as TEXT, times as BIGINT (microseconds since 1970), and flags as SMALLINT. SQLite has one connection for
// writes and a pool for reads; PostgreSQL has two pools and uses advisory locks. When the database is down or busy,
// errors have the code domain.CodeUnavailable.
package db
