//go:build !amd64

package static

// addRows is addRowsPortable, because nothing faster exists for this architecture.
var addRows = addRowsPortable
