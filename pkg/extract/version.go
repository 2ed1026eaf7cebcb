package extract

// Version is the version of this package's output. Increment it whenever the blocks, the title or the type of any
// document change. Unchanged content is read again only if the version differs.
const Version = 6
