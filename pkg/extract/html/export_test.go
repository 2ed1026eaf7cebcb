package html

// Identifiers that tests outside the package use.
var Attr = attr

// Gram is the number of words looked for in a row.
const Gram = shingleWords
