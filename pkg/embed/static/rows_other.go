//go:build !amd64

package static

// addRows is addRowsPortable, because this architecture has no faster implementation.
var addRows = addRowsPortable
