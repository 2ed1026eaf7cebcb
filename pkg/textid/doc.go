// Package textid determines whether the texts of web pages are equal or similar.
//
// Many pages contain values that change with each request, such as nonces, CSRF tokens, the time and view counters.
// RemoveVolatile removes them from the text, so that its Hash stays the same.
//
// A Sketch is a MinHash of the text's shingles (Broder, "On the resemblance and containment of documents", 1997). The
// fraction of equal values in two sketches estimates the fraction of shingles that the texts have in common. To save
// time, each shingle is hashed only once (Li, Owen, Zhang, "One Permutation Hashing", 2012). To save memory, only eight
// bits of each value are kept (Li, König, "b-Bit Minwise Hashing", 2010).
package textid
