// Package measure contains the commands that measure a running service over HTTP: eval measures retrieval quality, and
// bench measures performance under load. It does not access stored data directly. Only the program that assembles the
// commands imports this package.
package measure

import (
	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
)

type commands struct {
	*cli.Program
	chat func(config.Config) (chat.Model, error)
}

// Commands returns the commands. `chat` opens the configured chat model, which generates questions.
func Commands(p *cli.Program, chat func(config.Config) (chat.Model, error)) []*cobra.Command {
	c := commands{p, chat}
	return []*cobra.Command{c.evalCommand(), c.benchCommand()}
}
