// Package record has the rows that the other packages of the catalog share: those of datastores and datasources, and the
// rows of the outbox and of sweeps that are written together with them. It decides nothing: the order of locks is in
// locks.go, and the columns of a datasource in record.go. It imports db.
package record
