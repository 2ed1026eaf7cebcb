// Package lazyregexp compiles regular expressions when they are first used, like internal/lazyregexp in the standard
// library. Sluice has hundreds of expressions in package variables. If they were all compiled at startup, every process
// would need about a fifth more CPU time to start, and most processes (commands, extraction processes) use few of them.
package lazyregexp

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// inTest reports whether the go command started this process to run tests.
var inTest = slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.") })

// New returns a function that compiles the expression on its first call and returns the same result on every call. The
// function panics if the expression is invalid. In a test binary, New itself compiles the expression and panics, so
// that any test in a package finds an invalid expression.
func New(expression string) func() *regexp.Regexp {
	return NewFunc(func() string { return expression })
}

// NewFunc is like New, but it gets the expression from `build`. It is for expressions that take time to build.
func NewFunc(build func() string) func() *regexp.Regexp {
	compile := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(build()) })
	if inTest {
		compile()
	}
	return compile
}
