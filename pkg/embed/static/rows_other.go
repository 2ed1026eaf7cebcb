//go:build !amd64

package static

// addRows has no faster implementation on this architecture.
var addRows = addRowsPortable
