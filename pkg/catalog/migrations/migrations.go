// Package migrations contains the catalog database's schema as goose migrations. Only catalog and catalog/maintenance
// import it.
package migrations

import "embed"

// FS contains one file per schema version.
//
//go:embed *.sql
var FS embed.FS
