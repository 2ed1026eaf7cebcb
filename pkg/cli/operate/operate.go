// Package operate has the commands that open what a service keeps, its catalog or its data directory: keys, replay, repair, backup, restore
// and models. They are for the service's operator and need no API key. Only the program that puts the commands together imports it.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/embed"
)

// commands are the commands with what they share.
type commands struct {
	*cli.Program
	models func(config.Config) ([]embed.Model, error)
}

// Commands returns the commands. models reads the embedding models that a service with these settings has, the default first.
func Commands(p *cli.Program, models func(config.Config) ([]embed.Model, error)) []*cobra.Command {
	c := commands{p, models}
	return []*cobra.Command{c.keysCommand(), c.replayCommand(), c.repairCommand(), c.backupCommand(), c.restoreCommand(), c.modelsCommand()}
}
