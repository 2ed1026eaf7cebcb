package mail

// What tests outside the package look at.
const MaxAttachments = maxAttachments
const MaxMailParts = maxMailParts
