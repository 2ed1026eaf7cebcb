// Package milvus is the index engine on a Milvus server.
//
// # Layout
//
// Datastores that share an embedding model share a collection; creating one costs seconds, so there is none per
// datastore. Its name carries the schema's version, the number of dimensions and the model; the datastore is the
// partition key. A row's primary key is its datastore, datasource, generation and ordinal, the numbers padded, so that
// reading in order of primary keys is reading a generation in order of ordinals.
//
// # Writing
//
// Milvus does not keep primary keys unique, and cannot replace a row in place: what was deleted and inserted again is
// missing in between. So a write first asks which of its rows are there. A row that is there with the same content is
// left alone, one with other content is deleted and inserted, and all others are only inserted. Running a job again thus
// changes nothing that readers see, and a process that dies leaves some rows written and some not, which is what the
// next run completes. Two processes that write the same generation at the same moment can both find a row missing and
// both insert it; every read counts a primary key once, and the sweep of the generation removes all its copies.
//
// # Searching
//
// The dense and the lexical leg each find the primary keys of their best rows; the union is fetched and scored here, so
// that both scores are exact for every hit. The lexical leg is a sparse vector of BM25's document side multiplied with the
// query's inverse document frequencies, which come from the index itself: see frequencies.go. What is stored cannot follow
// the average length of a datastore's rows, and so is saturated against an assumed one. It only finds candidates, some more
// than are asked for: their frequencies are recovered from it, and they are scored with the average as it is now.
//
// # Servers
//
// What a server can do is asked of it. One without sparse vectors (Milvus before 2.4, which they abort) serves the dense
// leg only; hits then still carry their exact lexical score, computed from the text.
package milvus
