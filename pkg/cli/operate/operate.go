// Package operate contains the commands that access a service's catalog or data directory directly: keys, replay,
// repair, backup, restore and models. They are for the service's operator and don't need an API key. Only the program
// that assembles the commands imports this package.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/embed"
)

type commands struct {
	*cli.Program
	models func(config.Config) ([]embed.Model, error)
}

// Commands returns the commands. `models` returns the embedding models that a service with these settings would have,
// starting with the default.
func Commands(p *cli.Program, models func(config.Config) ([]embed.Model, error)) []*cobra.Command {
	c := commands{p, models}
	return []*cobra.Command{c.keysCommand(), c.replayCommand(), c.repairCommand(), c.backupCommand(), c.restoreCommand(), c.modelsCommand()}
}
