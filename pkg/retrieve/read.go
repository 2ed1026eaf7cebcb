package retrieve

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Ranking needs no texts: those of the candidates that may become fragments are read from the best on, some at a time.

// readAhead is how many candidates are read with one that turns out to be wanted after the first.
const readAhead = 8

// unread is why the rows of candidates could not be read: an engine has failed, or they were removed since they were found. Their
// datasource has another generation then, of which nothing was found, or their datastore has moved. All is to be searched
// anew, which tells.
type unread struct{ error }

// Unwrap returns what the caller is told when searching anew does not help.
func (u unread) Unwrap() error { return u.error }

// reader reads the rows of candidates, in the order in which they will be looked at.
type reader struct {
	ranked []*candidate
	first  int // how many are read at once, to begin with
}

// row has the row of the i-th candidate read.
func (r *reader) row(ctx context.Context, i int) error {
	if r.ranked[i].hit.Whole {
		return nil
	}
	n := max(r.first, readAhead)
	r.first = 0
	wanted := make(map[*origin][]*index.Hit)
	for ; n > 0 && i < len(r.ranked); i++ {
		if c := r.ranked[i]; !c.hit.Whole {
			wanted[c.from] = append(wanted[c.from], c.hit)
			n--
		}
	}
	for from, hits := range wanted {
		if err := from.fill(ctx, hits); err != nil {
			return err
		}
	}
	return nil
}

func (o *origin) fill(ctx context.Context, hits []*index.Hit) error {
	if err := o.engine.Fill(ctx, o.space, hits); err != nil {
		return unread{unavailable(fmt.Errorf("reading what was found in datastore %q: %w", o.space.DatastoreID, err),
			"the index of datastore %q cannot be read at the moment; try again later", o.space.DatastoreID)}
	}
	for _, h := range hits {
		if !h.Whole {
			return unread{domain.Errorf(domain.CodeUnavailable, "what was found in datastore %q is being replaced all the time; try again later", o.space.DatastoreID)}
		}
	}
	return nil
}
