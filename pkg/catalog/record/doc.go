// Package record reads and writes the rows that other packages of the catalog share: those of datastores, datasources,
// the outbox and sweeps. It makes no decisions. The lock order is described in locks.go, and the columns of a
// datasource are listed in record.go. Package record imports db.
package record
