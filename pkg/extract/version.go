package extract

// Version is the version of this package's output. Increment it whenever any document's blocks, title or type change:
// unchanged content is read again only if the version differs.
const Version = 7
