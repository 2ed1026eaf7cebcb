package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"

	"github.com/sluice/sluice/pkg/client"
)

// Maximum attempts for a request while the service is overloaded or unreachable.
const (
	interactiveAttempts = 3  // within about a second, because a user is waiting
	importAttempts      = 10 // within about 90 seconds, so that an import survives a restart of the service
)

// connect returns a client for the service. If no key is configured, it returns an error that explains how to get one.
// If `public` is set, a missing key is not an error, because the requested object may be public.
func (p *Program) connect(where ConnectionFlags, attempts int, public bool) (*client.Client, error) {
	at, err := where.Locate(p.Environ)
	if err != nil {
		return nil, err
	}
	if at.Key == "" && !public {
		looked := ""
		if at.KeyFile != "" {
			looked = fmt.Sprintf(" (%s does not exist)", at.KeyFile)
		}
		return nil, WithExit(Forbidden, fmt.Errorf(
			"no API key for %s%s: set SLUICE_API_KEY, or create a key with %s keys create on the machine of the service", at.Address, looked, p.Name))
	}
	c, err := client.New(at.Address, at.Key, client.WithAttempts(attempts), client.WithUserAgent("sluice-cli"))
	if err != nil {
		return nil, WithExit(Misused, err)
	}
	return c, nil
}

// Fault adds an exit code to a request's error, based on the service's response or on the reason why there was none.
func Fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return WithExit(Stopped, errors.New("stopped"))
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		if refused.Status == http.StatusForbidden || refused.Status == http.StatusUnauthorized {
			return WithExit(Forbidden, fmt.Errorf("%w; set the API key with SLUICE_API_KEY or --key", err))
		}
		return WithExit(ExitOfStatus(refused.Status), err)
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err // an error with a local file; like every system error, it would also match net.Error below
	}
	var unreached net.Error
	if errors.As(err, &unreached) || errors.Is(err, client.ErrUnfinished) || errors.Is(err, client.ErrIdleTimeout) {
		return WithExit(Unavailable, fmt.Errorf("%w; check that the service is running and that SLUICE_URL or --url is its address", err))
	}
	return err
}

// datastore reads a datastore by its id or name.
func datastore(ctx context.Context, c *client.Client, wanted string) (*client.Datastore, error) {
	if wanted == "" {
		return nil, Misusedf("specify --datastore with an id or name")
	}
	if IsID(wanted) {
		return c.GetDatastore(ctx, wanted)
	}
	var all []Named
	byID := map[string]client.Datastore{}
	for d, err := range c.ListDatastores(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, Named{ID: d.Id, Name: d.Name})
		byID[d.Id] = d
	}
	id, err := Pick("datastore", wanted, all)
	if err != nil {
		return nil, err
	}
	d := byID[id]
	return &d, nil
}

// datastoreOrNew is like datastore, but if `create` is set and no datastore has this name, it creates one.
func (p *Program) datastoreOrNew(ctx context.Context, c *client.Client, wanted string, create bool) (*client.Datastore, error) {
	d, err := datastore(ctx, c, wanted)
	if err == nil || ExitOf(err) != NotFound || IsID(wanted) {
		return d, err
	}
	if !create {
		return nil, WithExit(NotFound, fmt.Errorf("%w; add --create to create it", err))
	}
	if d, err = c.CreateDatastore(ctx, client.DatastoreCreate{Name: wanted}); err == nil {
		fmt.Fprintf(p.Err, "Created datastore %q (%s).\n", d.Name, d.Id)
	}
	return d, err
}

func valueOf[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
