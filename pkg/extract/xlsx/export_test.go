package xlsx

// Exported for tests outside the package.
const MaxRemarks = maxRemarks
const MaxRowText = maxRowText
