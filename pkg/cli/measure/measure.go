// Package measure has the commands that measure a running service over HTTP: eval, the quality of its retrieval, and bench, how it bears
// load. It opens nothing that a service keeps. Only the program that puts the commands together imports it.
package measure

import (
	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
)

// commands are the commands with what they share.
type commands struct {
	*cli.Program
	chat func(config.Config) (chat.Model, error)
}

// Commands returns the commands. chat opens the chat model that the settings name, which makes up questions.
func Commands(p *cli.Program, chat func(config.Config) (chat.Model, error)) []*cobra.Command {
	c := commands{p, chat}
	return []*cobra.Command{c.evalCommand(), c.benchCommand()}
}
