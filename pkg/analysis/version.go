package analysis

// Version is the version of the terms that this package computes. Increment it with every change that changes the terms
// of any text: unchanged content is indexed again only then.
const Version = 1
