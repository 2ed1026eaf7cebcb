// Package migrations holds the schema of the catalog's database, as goose reads it. Only catalog and catalog/maintenance
// import it.
package migrations

import "embed"

// FS has one file for each version of the schema.
//
//go:embed *.sql
var FS embed.FS
