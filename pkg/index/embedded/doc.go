// Package embedded implements the index engine that needs no server. Each space is a subdirectory of its datastore's
// directory. The engine opens spaces, limits how many are open, and searches, merges and repairs them. It consists of
// these packages:
//
//	embedded   the index.Index: open spaces, searches by words and vectors, background work, dropped datastores
//	store      a space: database, slot files, snapshots, group commit, merges, damage
//	lexical    postings, term lists, BM25, MaxScore
//	vector     exact scan, quantised codes, IVF
//
// The lexical and vector packages do not depend on store or SQL. docs/embedded-index.md uses an example to explain the
// structures, files and limits.
//
// The caller must ensure that only one process at a time uses the index directory.
package embedded
