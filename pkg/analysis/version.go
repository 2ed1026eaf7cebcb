package analysis

// Version is the version of the terms that this package computes. Increment it whenever the terms of any text change;
// otherwise unchanged content is not indexed again.
const Version = 1
