// Package milvus implements index.Index on a Milvus server.
//
// # Layout
//
// Datastores with the same embedding model share a collection, because creating one takes seconds. A collection's name
// contains the schema version, the dimensions and the model. The datastore is the partition key. A row's primary key
// consists of datastore, datasource, generation and ordinal. The numbers are padded so that keys sort by generation and
// ordinal.
//
// # Writing
//
// Milvus does not enforce unique primary keys and cannot replace a row in place: between a delete and an insert, the
// row is missing. So a write first reads which of its rows exist. It skips existing rows with the same content, deletes
// and reinserts those whose content differs, and inserts missing ones. Repeating a job therefore changes nothing
// visible, and after a crash the next run adds the missing rows. If two processes write the same generation at the same
// time, both may insert the same row. All reads ignore such copies, and they are removed when the generation is swept.
//
// # Searching
//
// Each leg returns the primary keys of its best rows. Their union is fetched and scored here, so both scores are exact
// for every hit. In the lexical leg, stored sparse vectors hold BM25's saturated term frequencies. The query's vector
// holds inverse document frequencies, which are counted in the index itself (see statistics.go). Saturated frequencies
// depend on the average row length, but stored vectors are not updated when it changes. They assume a fixed average
// instead, so the server's ranking is only approximate. It is used just to select candidates, of which the search
// fetches more than it needs. The candidates' exact term frequencies are recovered from their stored vectors, and the
// candidates are scored with the current average.
//
// # Servers
//
// A server's capabilities are determined when the connection is made. A server without sparse vectors (Milvus before
// 2.4, which crashes on them) runs only the dense leg. Its hits still have exact lexical scores, computed from their
// text.
package milvus
