package analysis

// Version identifies the terms that this package computes. Increment it whenever any text's terms change; otherwise
// unchanged content is not indexed again. Until content is indexed again, its rows keep the terms of an earlier
// version, so a query word's forms (QueryTerm) include those of all earlier versions.
const Version = 2
