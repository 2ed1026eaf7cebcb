//go:build !amd64

package static

// addRows is addRowsPortable, because there is nothing faster for this architecture.
var addRows = addRowsPortable
