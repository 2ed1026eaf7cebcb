package html

// Identifiers that tests outside the package use.
var Attr = attr

// Gram is the number of words that are looked up as a unit.
const Gram = shingleWords
