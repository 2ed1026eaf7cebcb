// Package embedded is the index engine that needs no server. It opens spaces, each a directory below that of its datastore, limits how
// many are open, and searches, merges and repairs them:
//
//	embedded   the index.Index: open spaces, both legs of a search, background work, drops
//	store      a space: database, slot files, snapshots, group commit, merges, damage
//	lexical    postings, term lists, BM25, MaxScore
//	vector     exact scan, quantised codes, IVF
//
// Packages lexical and vector know neither store nor SQL. docs/embedded-index.md explains structures, files and bounds by an example.
//
// One process at a time may open the directory; the caller holds the lock.
package embedded
