package extract

// Version is the version of this package's output. Increment it with every change that changes the blocks, the title or
// the type of any document: unchanged content is read again only then.
const Version = 6
