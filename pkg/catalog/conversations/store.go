// Package conversations stores agents' conversations, their messages, and the locks that order answers. It imports db.
package conversations

import "github.com/sluice/sluice/pkg/catalog/db"

// Store keeps conversations and their messages in the catalog's database. All methods are safe for concurrent use.
type Store struct{ db *db.DB }

// New returns a Store for the database.
func New(d *db.DB) *Store { return &Store{db: d} }
