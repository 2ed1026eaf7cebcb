package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice/sluice/pkg/config"
)

// Serve returns the command that runs the process.
func (p *Program) Serve(serve func(context.Context, config.Config) error) *cobra.Command {
	var given settings
	cmd := &cobra.Command{
		Use: "serve [settings]", Short: "Run the service (default)", GroupID: GroupProcess, DisableFlagsInUseLine: true,
		Long: "Run the service. Every setting can be given as a flag or as an environment variable; flags override the environment.\n" +
			"docs/configuration.md explains the units of sizes and durations.",
		Annotations: map[string]string{groupedSettings: "true"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Parse(append(given.args, args...), p.Environ)
			if err != nil {
				return WithExit(Misused, err)
			}
			return serve(cmd.Context(), c)
		},
	}
	given.flags(cmd)
	return WithoutUsage(cmd)
}

// settings collects the values of serve's setting flags, for package config to parse.
type settings struct{ args []string }

// flags adds every setting as a flag, for help and completion.
func (s *settings) flags(cmd *cobra.Command) {
	for _, setting := range config.Settings() {
		f := cmd.Flags().VarPF(&settingFlag{settings: s, name: setting.Flag, value: setting.Default}, setting.Flag, "",
			setting.Text()+" ["+setting.Env+"]")
		f.DefValue = "" // the usage text already contains the default
		if setting.IsBool() {
			f.NoOptDefVal = "true"
		}
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if none, ok := errors.AsType[*pflag.NotExistError](err); ok {
			name := none.GetSpecifiedName()
			dashes := "--"
			if len(name) == 1 {
				dashes = "-"
			}
			meant := "; run"
			if like := suggestedSetting(cmd, name); like != "" {
				meant = "; did you mean --" + like + "? Run"
			}
			err = fmt.Errorf("unknown setting %s%s%s %s --help for a list", dashes, name, meant, cmd.CommandPath())
		}
		return WithExit(Misused, err)
	})
}

// settingAliases maps flags used by other servers to the settings that serve suggests instead.
var settingAliases = map[string]string{
	"port": "addr 127.0.0.1:8080", "host": "addr 127.0.0.1:8080", "listen": "addr 127.0.0.1:8080", "bind": "addr 127.0.0.1:8080", "address": "addr 127.0.0.1:8080",
	"p": "addr 127.0.0.1:8080", "d": "data-dir DIRECTORY", "data": "data-dir DIRECTORY", "dir": "data-dir DIRECTORY", "key": "api-key KEY",
	"v": "log-level debug", "verbose": "log-level debug", "debug": "log-level debug", "model": "chat-model MODEL", "db": "database-url URL", "database": "database-url URL",
}

// suggestedSetting returns the setting to suggest for an unknown flag, or "".
func suggestedSetting(cmd *cobra.Command, name string) string {
	if usual, found := settingAliases[strings.ToLower(name)]; found {
		return usual
	}
	return SimilarFlag(cmd, name)
}

// settingFlag is a setting's flag. Package config validates its value.
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

// Plain returns a command that parses its own flags and prints its own usage.
func (p *Program) Plain(use, short string, do func(ctx context.Context, args []string) error) *cobra.Command {
	return WithoutUsage(&cobra.Command{
		Use: use, Short: short, GroupID: GroupProcess, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return do(cmd.Context(), args)
		},
	})
}
