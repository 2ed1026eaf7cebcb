package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goTest   = regexp.MustCompile("\\bgo test [^`\n#]+")
	selected = regexp.MustCompile(`-(run|bench) ('[^']*'|\S+)`)
	packages = regexp.MustCompile(`\./\S+`)
	function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w*)\(`)
)

// TestMeasurementsOfThePagesExist checks that the tests and benchmarks run by commands on the pages exist in the named
// packages.
func TestMeasurementsOfThePagesExist(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range pages(t) {
		if strings.HasPrefix(p.name, "docs/adr/archive/") {
			continue // archived decisions name packages that have since moved
		}
		for _, command := range goTest.FindAllString(strings.ReplaceAll(p.text, `\|`, "|"), -1) {
			names := functionsIn(t, packages.FindAllString(command, -1))
			for _, m := range selected.FindAllStringSubmatch(command, -1) {
				pattern, _, _ := strings.Cut(strings.Trim(m[2], "'"), "/")
				if pattern == "^$" {
					continue
				}
				found++
				kind := map[string]string{"run": "Test", "bench": "Benchmark"}[m[1]]
				for one := range strings.SplitSeq(pattern, "|") {
					if !matches(t, one, kind, names) {
						t.Errorf("%s: no %s matches %q of %s", p.name, kind, one, command)
					}
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d selections were found", found)
	}
}

// functionsIn lists the tests and benchmarks in packages. A name ending in "/..." includes the packages below it.
func functionsIn(t *testing.T, names []string) []string {
	t.Helper()
	var out []string
	for _, name := range names {
		dir, below := strings.CutSuffix(name, "/...")
		patterns := []string{filepath.Join(root, dir, "*_test.go")}
		if below {
			patterns = append(patterns, filepath.Join(root, dir, "*", "*_test.go"))
		}
		for _, pattern := range patterns {
			files, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range function.FindAllSubmatch(text, -1) {
					out = append(out, string(m[1]))
				}
			}
		}
	}
	return out
}

func matches(t *testing.T, pattern, kind string, names []string) bool {
	t.Helper()
	expression, err := regexp.Compile(pattern)
	if err != nil {
		t.Errorf("%q: %v", pattern, err)
		return true
	}
	for _, name := range names {
		if strings.HasPrefix(name, kind) && expression.MatchString(name) {
			return true
		}
	}
	return false
}
