package cli

import (
	_ "embed" // for the embedded introduction
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// referenceHead is the introduction of the reference.
//
//go:embed reference.md
var referenceHead string

// Reference returns the reference documentation for a program's commands.
func Reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, e := range exits {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", e.exit, e.code, e.text)
	}
	fmt.Fprintf(&b, "\n## Commands\n\n```text\n%s```\n", Help(root))
	writeConnection(&b, root)
	for _, g := range root.Groups() {
		for _, sub := range root.Commands() {
			if sub.GroupID == g.ID && sub.Name() != "help" {
				writeReference(&b, sub)
			}
		}
	}
	return b.String()
}

// writeConnection documents, once for all commands, the flags that locate a service.
func writeConnection(b *strings.Builder, root *cobra.Command) {
	written := false
	walk(root, func(cmd *cobra.Command) {
		flags := flagsOf(cmd)
		if written || !flags.connection.HasFlags() {
			return
		}
		written = true
		fmt.Fprint(b, "\n### Connection flags\n\nCommands that use or measure a service also have these flags.\n\n```text\n", flags.connection.FlagUsagesWrapped(helpWidth), "```\n")
	})
}

// writeReference writes the sections for a command and its subcommands.
func writeReference(b *strings.Builder, cmd *cobra.Command) {
	switch cmd.Name() {
	case "completion", "serve", "ingestor", "crawler":
		return // covered by the introduction
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	flagsOf(cmd).own.VisitAll(func(f *pflag.Flag) {
		if f.Name != "data-dir" { // covered by the introduction
			own.AddFlag(f)
		}
	})
	if own.HasFlags() || cmd.Long != "" || cmd.HasExample() {
		fmt.Fprintf(b, "\n### %s\n\n```text\n", cmd.CommandPath())
		writeHelp(b, cmd)
		if cmd.Name() != "healthcheck" { // the settings have their own page
			writeFlags(b, "Flags", own)
		}
		b.WriteString("```\n")
	}
	for _, sub := range cmd.Commands() {
		writeReference(b, sub)
	}
}
