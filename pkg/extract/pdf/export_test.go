package pdf

// What tests outside the package look at.
const MaxHelpless = maxHelpless

var StartPDFium = startPDFium
