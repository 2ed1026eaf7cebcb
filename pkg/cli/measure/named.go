package measure

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/eval/service"
)

// datastoreNamed returns the id of the datastore of a running service that somebody has given by id or name.
func datastoreNamed(ctx context.Context, sluice *service.Service, wanted string) (id string, err error) {
	if cli.IsID(wanted) {
		return wanted, nil
	}
	var all []cli.Named
	err = sluice.Datastores(ctx, func(d service.Datastore) error {
		all = append(all, cli.Named{ID: d.ID, Name: d.Name})
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("looking for datastore %q: %w", wanted, err)
	}
	return cli.Pick("datastore", wanted, all)
}

// agentNamed does so for an agent.
func agentNamed(ctx context.Context, sluice *service.Service, wanted string) (id string, err error) {
	if cli.IsID(wanted) {
		return wanted, nil
	}
	var all []cli.Named
	err = sluice.Agents(ctx, func(a service.Agent) error {
		all = append(all, cli.Named{ID: a.ID, Name: a.Name})
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("looking for agent %q: %w", wanted, err)
	}
	return cli.Pick("agent", wanted, all)
}
