package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice/sluice/pkg/config"
)

// Maximum width of lines with flags.
const helpWidth = 110

// Help returns a command's help text.
func Help(cmd *cobra.Command) string {
	var b strings.Builder
	writeHelp(&b, cmd)
	writeCommands(&b, cmd)
	flags := flagsOf(cmd)
	if cmd.Annotations[groupedSettings] != "" {
		flags.own = writeSettings(&b, flags.own)
	}
	writeFlags(&b, "Flags", flags.own)
	writeFlags(&b, "Connection flags", flags.connection)
	writeFlags(&b, "Global flags", flags.global)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nRun %s COMMAND --help for help on a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// writeHelp writes everything that precedes the subcommands and flags.
func writeHelp(b *strings.Builder, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	fmt.Fprintf(b, "usage: %s\n", cmd.UseLine())
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(about))
	if cmd.HasExample() {
		fmt.Fprintf(b, "\nExamples:\n%s\n", indented(cmd.Example))
	}
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
		if isShown(sub) {
			width = max(width, len(sub.Name()))
		}
	}
	list := func(title, group string) {
		for _, sub := range cmd.Commands() {
			if !isShown(sub) || sub.GroupID != group {
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

func isShown(cmd *cobra.Command) bool { return cmd.IsAvailableCommand() || cmd.Name() == "help" }

// flagSets groups a command's flags into its own, those that locate a service, and those shared by all commands.
type flagSets struct{ own, connection, global *pflag.FlagSet }

func flagsOf(cmd *cobra.Command) flagSets {
	newSet := func() *pflag.FlagSet { return pflag.NewFlagSet("", pflag.ContinueOnError) }
	sets := flagSets{newSet(), newSet(), newSet()}
	root := cmd.Root().PersistentFlags()
	add := func(f *pflag.Flag) {
		switch {
		case f.Name == "help" || root.Lookup(f.Name) != nil:
			sets.global.AddFlag(f)
		case f.Annotations[connectionFlag] != nil:
			sets.connection.AddFlag(f)
		default:
			sets.own.AddFlag(f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return sets
}

// connectionFlag marks a flag that locates a service.
const connectionFlag = "connection"

func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if usages := flags.FlagUsagesWrapped(helpWidth); usages != "" {
		fmt.Fprintf(b, "\n%s:\n%s", title, usages)
	}
}

// groupedSettings annotates commands whose flags are configuration settings. Their help groups the flags by subject.
const groupedSettings = "grouped-settings"

// writeSettings writes the flags for settings, grouped by subject, and returns the other flags.
func writeSettings(b *strings.Builder, flags *pflag.FlagSet) (others *pflag.FlagSet) {
	written := map[string]bool{}
	for _, g := range config.Groups() {
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		group.SortFlags = false
		for _, s := range g.Settings {
			if f := flags.Lookup(s.Flag); f != nil {
				group.AddFlag(f)
				written[f.Name] = true
			}
		}
		writeFlags(b, g.Title, group)
	}
	others = pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if !written[f.Name] {
			others.AddFlag(f)
		}
	})
	return others
}
