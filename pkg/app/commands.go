package app

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/cli/inspect"
	"github.com/sluice/sluice/pkg/cli/measure"
	"github.com/sluice/sluice/pkg/cli/operate"
)

// commandLine builds and runs the program's commands.
type commandLine struct {
	cli.Program
	shape Shape
	hooks hooks
}

func newCommandLine(h hooks, shape Shape, environ []string, stdout, stderr io.Writer) *commandLine {
	return &commandLine{shape: shape, hooks: h, Program: cli.Program{
		Name: shape.command(), Version: Version(), Environ: environ, In: os.Stdin, Out: stdout, Err: stderr,
		About: map[Shape]string{
			API: "Sluice indexes files, web pages, websites and text, and answers questions about them. Without a command, it runs\n" +
				"the service, which needs no configuration.",
			Ingestor: "Ingestor reads and indexes documents for a fleet's api processes. Without a command, it runs the process;\n" +
				"sluice ingestor serve --help lists the settings.",
			Crawler: "Crawler fetches web pages for a fleet's api processes. Without a command, it runs the process;\n" +
				"sluice crawler serve --help lists the settings.",
		}[shape],
	}}
}

//go:generate go run ./gencli ../../docs/cli.md

// CommandReference returns the documentation page for the commands, generated from their definitions.
func CommandReference() string {
	p := newCommandLine(hooks{}, API, nil, io.Discard, io.Discard)
	return cli.Reference(p.root())
}

func run(ctx context.Context, shape Shape, args, environ []string, stdout, stderr io.Writer) error {
	return newCommandLine(hooks{}, shape, environ, stdout, stderr).run(ctx, args)
}

func (p *commandLine) run(ctx context.Context, args []string) error {
	root := p.root()
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && !isRootFlag(root, args[0]) {
		args = append([]string{"serve"}, args...) // settings without a command are for serve
	}
	return p.Execute(ctx, root, args)
}

// isRootFlag reports whether an argument is a flag of the root command itself. Command lines that begin with any other
// flag run serve.
func isRootFlag(root *cobra.Command, arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name == "h" || root.Flags().Lookup(name) != nil || root.PersistentFlags().Lookup(name) != nil
}

func (p *commandLine) root() *cobra.Command {
	commands := []*cobra.Command{p.Healthcheck(p.shape.listensAnywhere())}
	switch p.shape {
	case API:
		commands = append(append(commands, p.Remote()...),
			p.processCommand(Ingestor, "Run an ingestor process in a fleet"),
			p.processCommand(Crawler, "Run a crawler process in a fleet"),
			p.MCP())
		commands = append(commands, operate.Commands(&p.Program, readEmbedders)...)
		commands = append(commands, measure.Commands(&p.Program, openDefaultChatModel)...)
	case Ingestor:
		commands = append(commands, inspect.Extract(&p.Program, newReader))
	case Crawler:
		commands = append(commands, inspect.Plan(&p.Program, openPlanner))
	}
	serve := p.Serve(p.serve)
	if p.shape == API {
		serve.Example = "sluice\nsluice --addr 127.0.0.1:9090 --data-dir /var/lib/sluice\nSLUICE_LOG_LEVEL=debug sluice serve"
	}
	return p.Root(serve, commands...)
}

// processCommand returns the command that runs a process of the given shape. It passes on all arguments, which may
// begin with one of the process's subcommands.
func (p *commandLine) processCommand(shape Shape, short string) *cobra.Command {
	return cli.WithoutUsage(&cobra.Command{
		Use: string(shape) + " [command]", Short: short, GroupID: cli.GroupProcess, DisableFlagsInUseLine: true,
		Long:               short + ". A symbolic link to sluice with the name " + string(shape) + " runs the same process.",
		DisableFlagParsing: true, // the process parses its own flags
		RunE: func(cmd *cobra.Command, args []string) error {
			other := newCommandLine(p.hooks, shape, p.Environ, p.Out, p.Err)
			other.In = p.In
			return other.run(cmd.Context(), args)
		},
	})
}
