// Package cli implements the command line: everything that commands share (command tree, help, flags, exit codes, text
// and JSON output) and the commands that act as clients of a running service. Its subpackages contain commands that
// measure a service (measure), access its data directly (operate), or show how the pipeline processes a file or site
// (inspect). They import cli; cli imports none of them.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program holds the state and settings shared by all of a program's commands.
type Program struct {
	Name    string // "sluice", or "sluice ingestor"
	About   string // description for the help text
	Version string
	Environ []string
	In      io.ReadCloser
	Out     io.Writer
	Err     io.Writer

	JSON bool // --json: print results and errors as JSON
}

// Command groups in the help text, in order.
const (
	GroupUse     = "use"
	GroupMeasure = "measure"
	GroupOperate = "operate"
	GroupProcess = "process"
)

// Root returns the program's command tree. `serve` runs if the command line names no command.
func (p *Program) Root(serve *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	var showVersion bool
	file, _, _ := strings.Cut(p.Name, " ")
	root := &cobra.Command{
		Use: file + " [command]", Short: p.About, Long: p.About, Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: p.Name},
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return p.printVersion()
			}
			serve.SetContext(cmd.Context())
			return serve.RunE(serve, nil)
		},
	}
	root.PersistentFlags().BoolVar(&p.JSON, "json", false, "print results and errors as JSON")
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(p.Out, Help(cmd)) })
	root.SetFlagErrorFunc(flagFault)
	root.SetHelpCommandGroupID(GroupProcess)
	root.SetCompletionCommandGroupID(GroupProcess)
	root.AddGroup(
		&cobra.Group{ID: GroupUse, Title: "Use a service"},
		&cobra.Group{ID: GroupMeasure, Title: "Measure a service"},
		&cobra.Group{ID: GroupOperate, Title: "Operate a service (no API key needed)"},
		&cobra.Group{ID: GroupProcess, Title: "Processes and tools"},
	)
	version := &cobra.Command{
		Use: "version", Short: "Show the version", GroupID: GroupProcess, Args: NoArguments, DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error { return p.printVersion() },
	}
	root.AddCommand(serve, version)
	root.AddCommand(commands...)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root, func(cmd *cobra.Command) {
		switch cmd.CommandPath() {
		case p.Name + " help":
			cmd.Short = "Show help for a command"
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil {
					return err
				}
				return noSuchCommand(found, rest)
			}
		case p.Name + " completion":
			cmd.Use, cmd.Short = "completion bash|zsh|fish|powershell", "Write a shell completion script"
			cmd.Long = "Write a completion script for commands and flags. To load it: source <(" + p.Name + " completion bash)"
			cmd.DisableFlagsInUseLine = true
		}
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			cmd.Args = NoArguments
		}
		cmd.Flags().BoolP("help", "h", false, "show this help")
		if cmd.HasSubCommands() && cmd != root && cmd.RunE == nil && cmd.Run == nil {
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = subcommandMissing
		}
	})
	return root
}

func (p *Program) printVersion() error {
	if p.JSON {
		return p.PrintJSON(map[string]string{"program": p.Name, "version": p.Version})
	}
	fmt.Fprintln(p.Out, p.Name, p.Version)
	return nil
}

// Execute runs the command in args. Errors about invalid arguments include the usage.
func (p *Program) Execute(ctx context.Context, root *cobra.Command, args []string) error {
	args = normaliseFlags(root, args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return nil
	}
	if !p.JSON { // parsing may have failed before reaching --json
		for _, arg := range args {
			p.JSON = p.JSON || arg == "--json" || arg == "--json=true"
		}
	}
	var coded interface{ ExitCode() Exit }
	if !errors.As(err, &coded) && isArgumentError(cmd, err) {
		err = WithExit(Misused, err)
	}
	if ExitOf(err) == Misused && cmd != root && cmd.Annotations[ownUsage] == "" {
		parted := ";"
		if strings.HasSuffix(err.Error(), "?") {
			parted = ""
		}
		return WithExit(Misused, fmt.Errorf("%w%s usage: %s (help: %s --help)", err, parted, cmd.UseLine(), cmd.CommandPath()))
	}
	return err
}

// ownUsage annotates commands whose error messages already contain their usage.
const ownUsage = "own-usage"

// WithoutUsage marks cmd as a command whose error messages don't need an extra usage line, and returns it.
func WithoutUsage(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[ownUsage] = "true"
	return cmd
}

// isArgumentError reports whether err comes from cobra's checks of arguments and flags.
func isArgumentError(cmd *cobra.Command, err error) bool {
	if cmd.Args == nil {
		return false
	}
	again := cmd.ValidateArgs(cmd.Flags().Args())
	return again != nil && again.Error() == err.Error() ||
		cmd.ValidateRequiredFlags() != nil && strings.HasPrefix(err.Error(), "required flag")
}

// normaliseFlags lets users write long flags with a single dash by adding the second one.
func normaliseFlags(root *cobra.Command, args []string) []string {
	names := map[string]bool{}
	walk(root, func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	})
	out := make([]string, len(args))
	copy(out, args)
	for i, arg := range out {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && len(name) > 1 && names[name] {
			out[i] = "-" + arg
		}
	}
	return out
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

// noSuchCommand rejects any arguments to a command that takes none. It treats the first one as a mistyped command and
// suggests a similar command, if there is one.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := similarCommand(cmd, args[0]); like != "" {
		return Misusedf("unknown command %q%s Run %s --help for a list", args[0], like, cmd.CommandPath())
	}
	return Misusedf("unknown command %q; run %s --help for a list", args[0], cmd.CommandPath())
}

// subcommandMissing returns an error for a command that needs a subcommand. If args names an unknown one, the error
// says so. If args is empty, the error lists the subcommands.
func subcommandMissing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Misusedf("unknown command %q%s", cmd.Name()+" "+args[0], similarCommand(cmd, args[0]))
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	last := len(names) - 1
	return Misusedf("missing command: %s or %s", strings.Join(names[:last], ", "), names[last])
}

func similarCommand(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = cmp.Or(cmd.SuggestionsMinimumDistance, 2)
	if like := cmd.SuggestionsFor(word); len(like) > 0 {
		return "; did you mean " + strings.Join(like, " or ") + "?"
	}
	return ""
}

// flagFault returns the error for a flag that cobra rejected with err. It suggests a similar flag if there is one.
func flagFault(cmd *cobra.Command, err error) error {
	var none *pflag.NotExistError
	if !errors.As(err, &none) {
		return WithExit(Misused, err)
	}
	name := none.GetSpecifiedName()
	said := "unknown flag --" + name
	if len(name) == 1 {
		said = "unknown flag -" + name
	} else if best := SimilarFlag(cmd, name); best != "" {
		said += "; did you mean --" + best + "?"
	}
	return WithExit(Misused, errors.New(said))
}

// SimilarFlag returns the command's flag whose name is closest to `name`, or "" if none is within an edit distance of
// two.
func SimilarFlag(cmd *cobra.Command, name string) string {
	best, distance := "", 3
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := editDistance(name, f.Name); d < distance && !f.Hidden {
			best, distance = f.Name, d
		}
	})
	return best
}

// editDistance returns the Levenshtein distance between a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			before, row[j+1] = row[j+1], min(before+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// NoArguments rejects arguments.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Misusedf("unexpected argument %q", args[0])
	}
	return nil
}

// AtMost rejects command lines with more than n arguments.
func AtMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return Misusedf("unexpected argument %q", args[n])
		}
		return nil
	}
}

// Input returns standard input. Reads fail once ctx is done, so a command waiting for input can be stopped.
func (p *Program) Input(ctx context.Context) io.Reader {
	out, in := io.Pipe()
	go func() { // runs until the input or the process ends, because reads from a terminal or pipe cannot be cancelled
		_, err := io.Copy(in, p.In)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })
	return out
}

// PrintJSON writes a result as JSON.
func (p *Program) PrintJSON(v any) error {
	if err := encoder(p.Out).Encode(v); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// ProgressWriter returns the writer for progress messages: standard error if --json is set, so that standard output
// contains only the result.
func (p *Program) ProgressWriter() io.Writer {
	if p.JSON {
		return p.Err
	}
	return p.Out
}
