// Package conversations stores the conversations of agents, their messages, and the locks that order their answers. It
// imports db.
package conversations

import "github.com/sluice/sluice/pkg/catalog/db"

// Store is the store of conversations. All methods are safe for concurrent use.
type Store struct{ db *db.DB }

// New returns the conversations of a database.
func New(d *db.DB) *Store { return &Store{db: d} }
