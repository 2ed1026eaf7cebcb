package cli

import (
	_ "embed" // the page's beginning is part of the program that writes it
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// referenceHead is the introduction of the reference.
//
//go:embed reference.md
var referenceHead string

// Reference returns the reference of a program's commands.
func Reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, e := range exits {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", e.exit, e.code, e.text)
	}
	fmt.Fprintf(&b, "\n## Commands\n\n```text\n%s```\n", Help(root))
	for _, g := range root.Groups() {
		for _, sub := range root.Commands() {
			if sub.GroupID == g.ID && sub.Name() != "help" {
				writeReference(&b, sub)
			}
		}
	}
	return b.String()
}

func writeReference(b *strings.Builder, cmd *cobra.Command) {
	help := Help(cmd)
	own, shared := ownFlags(cmd)
	var flags strings.Builder
	writeFlags(&flags, "Flags of every command", shared) // shown with the root command
	help = strings.Replace(help, flags.String(), "", 1)
	if cmd.Name() == "serve" || cmd.Name() == "healthcheck" {
		flags.Reset()
		writeFlags(&flags, "Flags", own) // the settings have a separate page
		help = strings.Replace(help, flags.String(), "", 1)
	}
	fmt.Fprintf(b, "\n### %s\n\n```text\n%s```\n", cmd.CommandPath(), help)
	if cmd.Name() == "completion" {
		return // the same for each shell
	}
	for _, sub := range cmd.Commands() {
		writeReference(b, sub)
	}
}
