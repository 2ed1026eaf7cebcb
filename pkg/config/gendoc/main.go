// Command gendoc writes the table of settings into the documentation.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/sluice/sluice/pkg/config"
)

const head = `# Configuration

<!-- Generated from pkg/config by go generate; do not edit. -->

Flags come before the environment. Unknown settings are errors, and every fault is reported at once. Sizes take the units
KiB, MiB, GiB (or KB, MB, GB), durations s, m, h.

`

func main() {
	var b bytes.Buffer
	b.WriteString(head)
	config.Markdown(&b)
	if err := os.WriteFile(os.Args[1], b.Bytes(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}
