//go:build !amd64

package static

// addRows has no faster way here.
var addRows = addRowsPortable
