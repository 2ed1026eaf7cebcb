// Package eval measures retrieval. It reads documents, questions and judgements in the form of the BEIR collections,
// scores rankings as trec_eval does, and says with bootstrap intervals how far the figures can be trusted. It also makes
// questions from a datastore's own content with a chat model, for who has no judged ones.
//
// It talks to nobody by itself: package eval/service asks a running Sluice.
package eval
