// Command gencli writes the documentation's command reference.
package main

import (
	"fmt"
	"os"

	"github.com/sluice/sluice/pkg/app"
)

func main() {
	if err := os.WriteFile(os.Args[1], []byte(app.CommandReference()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gencli:", err)
		os.Exit(1)
	}
}
