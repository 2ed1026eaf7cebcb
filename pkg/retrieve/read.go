package retrieve

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Ranking doesn't need texts. Rows are read only for candidates that may become fragments, best first and several at a
// time.

// Number of candidates to read at a time, after the first read.
const readAhead = 8

// unreadRowsError means that candidates' rows couldn't be read, so the search must be repeated. Either the engine
// failed, or the rows are gone because the datasource got a new generation or the datastore moved.
type unreadRowsError struct{ error }

// Unwrap returns the underlying error, which the caller gets if repeating the search doesn't help.
func (u unreadRowsError) Unwrap() error { return u.error }

// reader reads rows in the order in which candidates will need them.
type reader struct {
	ranked []*candidate
	first  int // number of candidates in the first read
}

// row makes sure that candidate i's row has been read. If it hasn't, row reads it along with the rows of the next few
// candidates.
func (r *reader) row(ctx context.Context, i int) error {
	if r.ranked[i].hit.Complete {
		return nil
	}
	n := max(r.first, readAhead)
	r.first = 0
	wanted := make(map[*origin][]*index.Hit)
	for ; n > 0 && i < len(r.ranked); i++ {
		if c := r.ranked[i]; !c.hit.Complete {
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
		return unreadRowsError{unavailable(fmt.Errorf("reading rows of datastore %q: %w", o.space.DatastoreID, err),
			"the index of datastore %q cannot be read at the moment; try again later", o.space.DatastoreID)}
	}
	for _, h := range hits {
		if !h.Complete {
			return unreadRowsError{domain.Errorf(domain.CodeUnavailable, "the content of datastore %q changed during the search; try again later", o.space.DatastoreID)}
		}
	}
	return nil
}
