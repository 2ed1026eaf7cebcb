// Package db is the database below the catalog: the engines SQLite and PostgreSQL, their dialects, transactions, commits that
// several transactions share, notices between processes, locks, leases and migrations. It knows no table of the catalog but
// leases. The packages of catalog import it; it imports cursor and the errors of domain.
//
// Every statement is written once, with ? as placeholder and in the SQL that SQLite and PostgreSQL share: TEXT ids,
// times as BIGINT microseconds since 1970, flags as SMALLINT, JSON as TEXT, ON CONFLICT. With SQLite there is one
// connection for writes and a pool for reads; with PostgreSQL two pools, and advisory locks. An error that passes by
// itself, because the database is away or busy, has the code domain.CodeUnavailable.
package db
