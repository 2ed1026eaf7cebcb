package xlsx

// Identifiers that tests outside the package use.
const MaxRemarks = maxRemarks
const MaxRowText = maxRowText
