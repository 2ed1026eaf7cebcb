// Package record contains the rows shared by the other packages of the catalog: datastores and datasources, and the
// rows of the outbox and of sweeps that are written with them. It makes no decisions. The order of locks is described
// in locks.go; the columns of a datasource are listed in record.go. It imports db.
package record
