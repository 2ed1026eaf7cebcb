package analysis

// Version is the version of the terms that this package computes. Increment it with each change that gives some text
// other terms: only then is unchanged content indexed again.
const Version = 1
