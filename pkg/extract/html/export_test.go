package html

// Exported for tests outside the package.
var Attr = attr

// Gram is the number of words looked up as a unit.
const Gram = shingleWords
