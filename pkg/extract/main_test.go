package extract

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// compiled keeps the compiled PDFium for all tests of a run: compiling takes seconds.
var compiled string

// runTests runs the tests of a package, with a folder for the compiled PDFium, and looks for goroutines left behind.
func runTests(m *testing.M) {
	dir, err := os.MkdirTemp("", "extract-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	compiled = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

func TestMain(m *testing.M) {
	runChildIfAsked(misbehave)
	runTests(m)
}
