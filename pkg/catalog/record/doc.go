// Package record reads and writes the rows that other packages of the catalog share: datastores, datasources, the
// outbox and sweeps. It makes no decisions. locks.go describes the lock order, and record.go lists the columns of a
// datasource. Package record imports db.
package record
