package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
)

// commandLine is a program as it was called.
type commandLine struct {
	cli.Program
	shape Shape
}

func newCommandLine(shape Shape, environ []string, stdout, stderr io.Writer) *commandLine {
	return &commandLine{shape: shape, Program: cli.Program{
		Name: shape.command(), Version: Version(), Environ: environ, In: os.Stdin, Out: stdout, Err: stderr,
		About: map[Shape]string{
			API: "Sluice takes in files, web pages, web sites and text, and answers questions from them. Without a command this\n" +
				"is the service, which needs no configuration; sluice serve --help lists its settings. The commands that talk to a\n" +
				"service find it by SLUICE_URL and SLUICE_API_KEY; without them it is the one of this machine.",
			Ingestor: "Ingestor reads documents for the api processes of a fleet, and puts them into the index. Without a command it is\n" +
				"that process; sluice ingestor serve --help lists the settings of all processes.",
			Crawler: "Crawler fetches web pages for the api processes of a fleet. Without a command it is that process;\n" +
				"sluice crawler serve --help lists the settings of all processes.",
		}[shape],
	}}
}

//go:generate go run ./gencli ../../docs/cli.md

// CommandReference is the page of the documentation about the commands, as their definitions have them.
func CommandReference() string {
	p := newCommandLine(API, nil, io.Discard, io.Discard)
	return cli.Reference(p.root())
}

// run runs a command and returns why it could not be done.
func run(ctx context.Context, shape Shape, args, environ []string, stdout, stderr io.Writer) error {
	return newCommandLine(shape, environ, stdout, stderr).run(ctx, args)
}

func (p *commandLine) run(ctx context.Context, args []string) error {
	root := p.root()
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && !belongsToRoot(root, args[0]) {
		args = append([]string{"serve"}, args...) // settings without a command are those of serve
	}
	return p.Execute(ctx, root, args)
}

// belongsToRoot reports whether a flag belongs to the root command and is not a setting of serve.
func belongsToRoot(root *cobra.Command, arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name == "h" || root.Flags().Lookup(name) != nil || root.PersistentFlags().Lookup(name) != nil
}

// root is the tree of the program's commands.
func (p *commandLine) root() *cobra.Command {
	commands := []*cobra.Command{p.healthcheckCommand()}
	switch p.shape {
	case API:
		commands = append(append(commands, p.Remote()...),
			p.processCommand(Ingestor, "Read documents for the services of a fleet"),
			p.processCommand(Crawler, "Fetch web pages for the services of a fleet"),
			p.keysCommand(), p.replayCommand(), p.repairCommand(), p.backupCommand(), p.restoreCommand(), p.modelsCommand(),
			p.evalCommand(), p.benchCommand(), p.mcpCommand())
	case Ingestor:
		commands = append(commands, p.plain("extract FILE…", "Print files as ingestion reads them", extractCommand))
	case Crawler:
		commands = append(commands, p.plain("plan [URL]", "Show what a crawl of a site would fetch and why", planCommand))
	}
	return p.Root(p.serveCommand(), commands...)
}

// processCommand is another process of a fleet with its own commands.
func (p *commandLine) processCommand(shape Shape, short string) *cobra.Command {
	return cli.SaysItself(&cobra.Command{
		Use: string(shape) + " [command]", Short: short, GroupID: cli.GroupProcess, DisableFlagsInUseLine: true,
		Long:               short + ". " + shape.command() + " --help lists its commands.\nA link to the program that is named " + string(shape) + " does the same.",
		DisableFlagParsing: true, // they are the other process's
		RunE: func(cmd *cobra.Command, args []string) error {
			other := newCommandLine(shape, p.Environ, p.Out, p.Err)
			other.In = p.In
			return other.run(cmd.Context(), args)
		},
	})
}

// serveCommand runs the process itself.
func (p *commandLine) serveCommand() *cobra.Command {
	var given settings
	cmd := &cobra.Command{
		Use: "serve [settings]", Short: "Serve until told to stop; the default", GroupID: cli.GroupProcess, DisableFlagsInUseLine: true,
		Long: "Serve until told to stop. Settings are flags or variables of the environment; flags come first. All of them, with\n" +
			"what they mean: docs/configuration.md.",
		Example: "sluice\nsluice --addr 127.0.0.1:9090 --data-dir /var/lib/sluice\nSLUICE_LOG_LEVEL=debug sluice serve",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Parse(append(given.args, args...), p.Environ, io.Discard)
			if err != nil {
				return usageError{err}
			}
			return Serve(cmd.Context(), p.shape, c, p.Out, p.Err)
		},
	}
	if p.shape != API {
		cmd.Example = ""
	}
	given.flags(cmd)
	return cli.SaysItself(cmd)
}

// settings are flags that the configuration reads.
type settings struct{ args []string }

// flags adds every setting as a flag, so that help and completion know them.
func (s *settings) flags(cmd *cobra.Command) {
	for _, setting := range config.Settings() {
		f := cmd.Flags().VarPF(&settingFlag{settings: s, name: setting.Flag, value: setting.Default}, setting.Flag, "",
			setting.Env+": "+strings.ReplaceAll(setting.Doc, "`", ""))
		if setting.Default == "true" || setting.Default == "false" {
			f.NoOptDefVal = "true"
		}
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var none *pflag.NotExistError
		if errors.As(err, &none) {
			name := none.GetSpecifiedName()
			dashes := "--"
			if len(name) == 1 {
				dashes = "-"
			}
			err = fmt.Errorf("%s%s is not a setting%s; %s --help lists them", dashes, name, settingMeant(cmd, name), cmd.CommandPath())
		}
		return usageError{err}
	})
}

// usualNames are the names of settings in other servers.
var usualNames = map[string]string{
	"port": "addr 127.0.0.1:8080", "host": "addr 127.0.0.1:8080", "listen": "addr 127.0.0.1:8080", "bind": "addr 127.0.0.1:8080", "address": "addr 127.0.0.1:8080",
	"p": "addr 127.0.0.1:8080", "d": "data-dir DIRECTORY", "data": "data-dir DIRECTORY", "dir": "data-dir DIRECTORY", "key": "api-key KEY",
	"v": "log-level debug", "verbose": "log-level debug", "debug": "log-level debug", "model": "chat-model MODEL", "db": "database-url URL", "database": "database-url URL",
}

// settingMeant suggests a setting for a flag that does not exist.
func settingMeant(cmd *cobra.Command, name string) string {
	if usual, found := usualNames[strings.ToLower(name)]; found {
		return ": did you mean --" + usual + "?"
	}
	if like := cli.SimilarFlag(cmd, name); like != "" {
		return ": did you mean --" + like + "?"
	}
	return ""
}

// settingFlag hands what it is set to on to the configuration, which checks it.
type settingFlag struct {
	*settings
	name, value string
}

// String implements pflag.Value.
func (f *settingFlag) String() string { return f.value }

// Set implements pflag.Value.
func (f *settingFlag) Set(value string) error {
	f.value = value
	f.args = append(f.args, "--"+f.name+"="+value)
	return nil
}

// Type implements pflag.Value.
func (f *settingFlag) Type() string { return "value" }

// plain is a command that reads its flags, and says how it is called, by itself.
func (p *commandLine) plain(use, short string, do func(context.Context, []string, []string, io.Writer, io.Writer) error) *cobra.Command {
	return cli.SaysItself(&cobra.Command{
		Use: use, Short: short, GroupID: cli.GroupProcess, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return do(cmd.Context(), args, p.Environ, p.Out, p.Err)
		},
	})
}
