package measure

import (
	"context"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/eval/service"
)

// findDatastore returns the id of the datastore with this id or name.
func findDatastore(ctx context.Context, sluice *service.Service, wanted string) (id string, err error) {
	return cli.Find("datastore", wanted, func(add func(cli.Named)) error {
		return sluice.Datastores(ctx, func(d service.Datastore) error { add(cli.Named{ID: d.ID, Name: d.Name}); return nil })
	})
}

// findAgent returns the id of the agent with this id or name.
func findAgent(ctx context.Context, sluice *service.Service, wanted string) (id string, err error) {
	return cli.Find("agent", wanted, func(add func(cli.Named)) error {
		return sluice.Agents(ctx, func(a service.Agent) error { add(cli.Named{ID: a.ID, Name: a.Name}); return nil })
	})
}
