// Package embedded implements the index engine that needs no server. It opens spaces, each in a directory within that
// of its datastore; limits the number of open spaces; and searches, merges and repairs them:
//
//	embedded   the index.Index: open spaces, both legs of a search, background work, drops
//	store      a space: database, slot files, snapshots, group commit, merges, damage
//	lexical    postings, term lists, BM25, MaxScore
//	vector     exact scan, quantised codes, IVF
//
// Packages lexical and vector do not depend on store or SQL. docs/embedded-index.md explains structures, files and
// limits with an example.
//
// Only one process at a time may open the directory. The caller must hold its lock.
package embedded
