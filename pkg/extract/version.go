package extract

// Version is the version of this package's output. Increment it whenever the blocks, the title or the type of any
// document change; otherwise unchanged content is not read again.
const Version = 6
