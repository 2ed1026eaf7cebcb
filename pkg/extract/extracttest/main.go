package extracttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// Documents is the path to the folder with the sample documents, testdata/documents in the module root.
var Documents = func() string {
	dir := "."
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Join(dir, "..")
	}
	return filepath.Join(dir, "testdata", "documents")
}()

// Compiled is the folder for compiled PDFium code. All tests in a run share it, because compiling takes seconds.
var Compiled string

// Main runs a package's tests. It creates the folder for compiled PDFium code and fails if goroutines leak.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "extract-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	Compiled = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}
