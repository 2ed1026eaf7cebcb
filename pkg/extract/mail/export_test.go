package mail

// Exported for tests outside the package.
const MaxAttachments = maxAttachments
const MaxMailParts = maxMailParts
