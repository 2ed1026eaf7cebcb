// Package record reads and writes the rows that the catalog's other packages share: datastores, datasources, the outbox
// and sweeps. It makes no decisions. The lock order is in locks.go and a datasource's columns are in record.go. It
// imports db.
package record
