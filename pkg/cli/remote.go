package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/sluice/sluice/pkg/client"
)

// How often a request is made that the service is too busy for, or cannot be reached for.
const (
	attemptsOfPeople  = 3  // over a second: somebody waits
	attemptsOfImports = 10 // over a minute and a half: a restart of the service should not end an import
)

// connect finds the service. Without a key it says how to come by one, unless what is wanted may be public.
func (p *Program) connect(where Where, attempts int, public bool) (*client.Client, error) {
	at, err := where.Locate(p.Environ)
	if err != nil {
		return nil, err
	}
	if at.Key == "" && !public {
		looked := ""
		if at.KeyFile != "" {
			looked = fmt.Sprintf(" (there is none in %s)", at.KeyFile)
		}
		return nil, WithExit(Forbidden, fmt.Errorf("there is no API key for %s%s: set SLUICE_API_KEY; %s keys create makes one on the machine of the service",
			at.Address, looked, p.Name))
	}
	c, err := client.New(at.Address, at.Key, client.WithAttempts(attempts), client.WithUserAgent("sluice-"+p.Name))
	if err != nil {
		return nil, WithExit(Misused, err)
	}
	return c, nil
}

// fault has a command end as what the service answered, or why it did not, says.
func fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var coded *Error
	if errors.As(err, &coded) {
		return err
	}
	if ctx.Err() != nil {
		return WithExit(Stopped, errors.New("stopped"))
	}
	var refused *client.Error
	if errors.As(err, &refused) {
		if refused.Status == http.StatusForbidden || refused.Status == http.StatusUnauthorized {
			return WithExit(Forbidden, fmt.Errorf("%w; SLUICE_API_KEY or --key gives the key", err))
		}
		return WithExit(ExitOfStatus(refused.Status), err)
	}
	var unreached net.Error
	if errors.As(err, &unreached) || errors.Is(err, client.ErrUnfinished) || errors.Is(err, client.ErrSilent) {
		return WithExit(Unavailable, fmt.Errorf("%w; does the service run, and is SLUICE_URL or --url its address?", err))
	}
	return err
}

var idForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// named is what has an id and a name.
type named struct{ id, name string }

// pick finds the one thing that id or name is meant to be. what is "datastore", and all lists them.
func pick(what, wanted string, all []named) (id string, err error) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		var found []string
		for _, n := range all {
			if same(n.name, wanted) {
				found = append(found, n.id)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return "", Misusedf("there are %d %ss named %q: take the id, one of %s", len(found), what, wanted, few(found))
		}
	}
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = fmt.Sprintf("%q", n.name)
	}
	if len(names) == 0 {
		return "", WithExit(NotFound, fmt.Errorf("there is no %s %q, and no other", what, wanted))
	}
	return "", WithExit(NotFound, fmt.Errorf("there is no %s %q; there are %s", what, wanted, few(names)))
}

// few lists some of what may be many.
func few(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// datastore reads a datastore by its id or its name.
func datastore(ctx context.Context, c *client.Client, wanted string) (*client.Datastore, error) {
	if wanted == "" {
		return nil, Misusedf("which datastore? --datastore takes its id or its name")
	}
	if idForm.MatchString(wanted) {
		return c.GetDatastore(ctx, wanted)
	}
	var all []named
	byID := map[string]client.Datastore{}
	for d, err := range c.ListDatastores(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, named{d.Id, d.Name})
		byID[d.Id] = d
	}
	id, err := pick("datastore", wanted, all)
	if err != nil {
		return nil, err
	}
	d := byID[id]
	return &d, nil
}

// datastoreOrNew is datastore that makes one of that name where there is none.
func (p *Program) datastoreOrNew(ctx context.Context, c *client.Client, wanted string, create bool) (*client.Datastore, error) {
	d, err := datastore(ctx, c, wanted)
	if err == nil || ExitOf(err) != NotFound || idForm.MatchString(wanted) {
		return d, err
	}
	if !create {
		return nil, WithExit(NotFound, fmt.Errorf("%w; --create makes it", err))
	}
	if d, err = c.CreateDatastore(ctx, client.DatastoreCreate{Name: wanted}); err == nil {
		fmt.Fprintf(p.Err, "Made datastore %q, %s.\n", d.Name, d.Id)
	}
	return d, err
}

// valueOf is what p points to, or nothing.
func valueOf[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// counted is a number with its noun.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
