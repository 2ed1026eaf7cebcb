package csv

// Exported for tests outside the package.
const MaxRecordLines = maxRecordLines
