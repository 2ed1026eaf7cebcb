package xlsx

// What tests outside the package look at.
const MaxRemarks = maxRemarks
const MaxRowText = maxRowText
