package extract

// Version is the version of this package's output. Increment it with every change that gives some document different
// blocks, another title or another type. Unchanged content is read again only after that.
const Version = 6
