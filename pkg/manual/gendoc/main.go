// Command gendoc writes the documentation pages generated from the code: limits and errors. ROOT is the repository's
// root directory.
//
//	go run ./pkg/manual/gendoc ROOT
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "gendoc: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: gendoc ROOT")
	}
	for name, write := range map[string]func(b *bytes.Buffer, root string) error{"limits.md": limits, "errors.md": errorCodes} {
		var b bytes.Buffer
		if err := write(&b, args[0]); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(args[0], "docs", name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
