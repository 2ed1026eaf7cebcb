// Package eval measures retrieval quality. It reads documents, questions and judgements in the formats of the BEIR
// collections, scores rankings like trec_eval, and computes bootstrap intervals for the figures. If there are no
// judgements, package eval/generate generates questions from a datastore's content with a chat model.
//
// It makes no network requests; package eval/service sends requests to a running Sluice.
package eval
