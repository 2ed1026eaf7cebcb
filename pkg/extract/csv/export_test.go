package csv

// What tests outside the package look at.
const MaxRecordLines = maxRecordLines
