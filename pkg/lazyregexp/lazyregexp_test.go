package lazyregexp_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

func TestAnExpressionIsCompiledOnce(t *testing.T) {
	t.Parallel()
	digits := lazyregexp.New(`\d+`)
	first := digits()
	if got := first.FindString("in 1998"); got != "1998" || digits() != first {
		t.Errorf("found %q", got)
	}
}

func TestTestsFindInvalidExpressions(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("New accepted an invalid expression")
		}
	}()
	lazyregexp.New(`(`)
}
