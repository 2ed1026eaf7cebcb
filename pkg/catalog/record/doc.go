// Package record reads and writes the rows that the catalog's other packages share: datastores, datasources, the outbox
// and sweeps. It makes no decisions. locks.go describes the lock order, and record.go lists a datasource's columns. It
// imports db.
package record
