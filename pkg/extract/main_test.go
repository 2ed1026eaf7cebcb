package extract

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// compiled keeps the compiled PDFium for all tests of a run: compiling takes seconds.
var compiled string

func TestMain(m *testing.M) {
	runChildIfAsked(misbehave)
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
