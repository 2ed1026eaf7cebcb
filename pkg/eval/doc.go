// Package eval measures retrieval quality. It reads documents, questions and judgements in the formats of the BEIR
// collections, scores rankings as trec_eval does, and computes bootstrap confidence intervals. Without judgements, the
// generate subpackage can make questions from a datastore's content with a chat model.
//
// It makes no network requests; the service subpackage sends requests to a running Sluice.
package eval
