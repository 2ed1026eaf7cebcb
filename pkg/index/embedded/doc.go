// Package embedded is the index engine that needs no server: a datastore is a directory, each of its model spaces a
// subdirectory.
//
//	<dir>/<datastore>/<space>/space.db      SQLite, WAL, synchronous=FULL: the truth
//	<dir>/<datastore>/<space>/space.json    which space it is
//	<dir>/<datastore>/<space>/vectors.f32   one record per slot: the vector and its checksum
//	<dir>/<datastore>/<space>/places.slots  one record per slot: what ranking wants to know of the row, and its checksum
//	<dir>/<datastore>/<space>/codes-N.bits  one record per slot: what package quant keeps of the vector, and its checksum; by columns, 64 slots together
//	<dir>/<datastore>/<space>/codes-N.bytes one record per slot: the same more finely
//	<dir>/<datastore>/<space>/cells-N.centres one record per cell of a space of a million rows or more: a fine code of its centre, and its checksum
//	<dir>/<datastore>/<space>/cells-N.means   the same in full precision
//	<dir>/<datastore>/<space>/cells-N.lists   one record per row that is in a cell, cell by cell: its code, its slot, and their checksum; by columns
//
// A row occupies a slot, its number in these files and in the postings. A write puts vectors, codes and places into slots that no
// committed state knows, and fills one SQLite transaction with everything else meanwhile: text, postings, which slots are live,
// counters. Once the files are synced, and not before, it commits. So there is one point of commit and nothing to reconcile after a crash: a slot that
// was written without a commit is simply still free.
//
// Postings are immutable segments, one per write, merged in the background so that their number stays logarithmic, and to a
// few once nobody writes. A slot whose row was replaced or deleted is dead; a merge drops its postings, and only then may it be used again. Readers see
// a snapshot: a SQLite read transaction and the in-memory state of the same version; writers never block them.
//
// Cells are made of vectors and codes in the background. They are dropped when they are damaged, or were left alone by an earlier
// program that wrote, and made anew; until then, as below a million rows, searches look at all codes.
//
// A space without rows has no files: they go when its last row does and nobody reads it any more. A space whose other files
// are damaged is never mended in part: Discard puts it aside, as <space>.corrupt, and replay rebuilds it. Files that are deleted or replaced under
// an open space are missed at its next use, and what lies there then is opened instead.
//
// One process at a time may open the directory; the caller holds the lock.
package embedded
