package mail

// Identifiers that tests outside the package use.
const MaxAttachments = maxAttachments
const MaxMailParts = maxMailParts
