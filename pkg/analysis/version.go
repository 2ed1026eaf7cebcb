package analysis

// Version numbers what terms this package makes of a text. Raise it by hand with every change after which some text
// yields other terms: content that has not changed is indexed again only then.
const Version = 1
