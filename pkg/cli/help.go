package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Maximum width of lines with flags.
const helpWidth = 110

// Help returns the help of a command.
func Help(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n", cmd.UseLine())
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(about))
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", indented(cmd.Example))
	}
	writeCommands(&b, cmd)
	own, shared := ownFlags(cmd)
	writeFlags(&b, "Flags", own)
	writeFlags(&b, "Flags of every command", shared)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more about a command.\n", cmd.CommandPath())
	}
	return b.String()
}

func indented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = "  " + line
	}
	return strings.Join(lines, "\n")
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	width := 0
	for _, sub := range cmd.Commands() {
		if shown(sub) {
			width = max(width, len(sub.Name()))
		}
	}
	list := func(title, group string) {
		for _, sub := range cmd.Commands() {
			if !shown(sub) || sub.GroupID != group {
				continue
			}
			if title != "" {
				fmt.Fprintf(b, "\n%s:\n", title)
				title = ""
			}
			fmt.Fprintf(b, "  %-*s  %s\n", width, sub.Name(), sub.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	list("Commands", "")
}

func shown(cmd *cobra.Command) bool { return cmd.IsAvailableCommand() || cmd.Name() == "help" }

// ownFlags separates a command's own flags from those of every command.
func ownFlags(cmd *cobra.Command) (own, shared *pflag.FlagSet) {
	own, shared = pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	root := cmd.Root().PersistentFlags()
	add := func(f *pflag.Flag) {
		if f.Name == "help" || root.Lookup(f.Name) != nil {
			shared.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return own, shared
}

func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if usages := flags.FlagUsagesWrapped(helpWidth); usages != "" {
		fmt.Fprintf(b, "\n%s:\n%s", title, usages)
	}
}
