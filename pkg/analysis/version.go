package analysis

// Version is the version of the terms that this package computes. Increment it whenever the terms of any text change;
// otherwise unchanged content is not indexed again. Rows keep the terms of their version until they are indexed again,
// so the forms of query words (QueryTerm) include the terms of all earlier versions.
const Version = 2
