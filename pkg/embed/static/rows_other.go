//go:build !amd64

package static

// addRows is addRowsPortable, because there is no faster implementation for this architecture.
var addRows = addRowsPortable
