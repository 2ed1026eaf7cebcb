package analysis

// Version identifies the terms this package computes. Increment it whenever the terms for any text change; otherwise
// unchanged content is not indexed again. Rows keep their version's terms until they are indexed again, so a query
// word's forms (QueryTerm) include the terms from all earlier versions.
const Version = 2
