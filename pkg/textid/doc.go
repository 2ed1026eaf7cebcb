// Package textid tells whether two texts are the same, or alike, whatever bytes they were sent in.
//
// Web servers put things into a page that differ with each request: nonces, CSRF tokens, the time, counters of views. The
// first two are no text. Steady takes the others out of the text, so that a Hash of it names the text and not the request.
//
// A Sketch is a MinHash of the text's shingles: the share of equal values in two sketches estimates the share of shingles
// that two texts have in common (Broder, "On the resemblance and containment of documents", 1997). It is made with one hash
// for each shingle (Li, Owen, Zhang, "One Permutation Hashing", 2012), of which eight bits are kept (Li, König, "b-Bit
// Minwise Hashing", 2010).
package textid
