package csv

// Identifiers that tests outside the package use.
const MaxRecordLines = maxRecordLines
