// Package figures keeps the sections of the documentation that a benchmark writes: what lies between two marks.
package figures

import (
	"fmt"
	"os"
	"strings"
)

// end closes every section.
const end = "<!-- end of figures -->"

// Replace puts text between the marks of a make target's section in the file at path:
// <!-- figures of make TARGET --> and <!-- end of figures -->. It fails when the file has no such section.
func Replace(path, target, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin := "<!-- figures of make " + target + " -->"
	before, rest, found := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no section of figures: %s … %s", path, begin, end)
	}
	return os.WriteFile(path, []byte(before+begin+"\n\n"+text+"\n"+end+after), 0o644)
}
