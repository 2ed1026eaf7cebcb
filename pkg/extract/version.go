package extract

// Version numbers what this package makes of the same content. Raise it by hand with every change after which some
// document yields other blocks, another title or another type: content that has not changed is read again only then.
const Version = 6
