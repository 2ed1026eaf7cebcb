package analysis

// Version identifies the terms that this package computes. Increment it whenever any text's terms change; otherwise
// unchanged content is not indexed again. Until then, rows keep their version's terms, so a query word's forms
// (QueryTerm) include those of all earlier versions.
const Version = 2
