// Package resources stores the objects that users create: datastores, datasources and agents. If a change requires a
// job, the job is stored in the same transaction as the change. The package imports db, record, accounts, sites and
// pipeline.
package resources

import (
	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Resources stores datastores, datasources and agents. All methods are safe for concurrent use.
type Resources struct {
	db       *db.DB
	cache    *ReadCache
	accounts *accounts.Accounts
	sites    *sites.Sites
}

// New returns a resource store that uses the given database. If only this process uses the database, m must be the
// Observer in the database's options.
func New(d *db.DB, m *ReadCache, a *accounts.Accounts, s *sites.Sites) *Resources {
	return &Resources{db: d, cache: m, accounts: a, sites: s}
}
