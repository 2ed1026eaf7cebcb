package retrieve

import (
	"slices"
	"sync"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Of some hundred candidates a query returns a few, as copies of what they say. So what they lie in is used again.

// room is what the candidates of one search lie in, and the hits that they are of.
type room struct {
	found      index.Result
	candidates []candidate // none yet, with room for one of each hit
}

var roomPool = sync.Pool{New: func() any { return new(room) }}

func roomOf(found index.Result) *room {
	r := roomPool.Get().(*room)
	r.found, r.candidates = found, slices.Grow(r.candidates[:0], len(found.Hits))
	return r
}

// release gives back what the candidates lie in. Nobody may look at any of them afterwards.
func (res *spaceResult) release() {
	if res.room == nil {
		return
	}
	r := res.room
	clear(res.candidates)
	res.room, res.candidates = nil, nil
	r.found.Release()
	r.found = index.Result{}
	if cap(r.candidates) <= mostRoom {
		roomPool.Put(r)
	}
}

// mostRoom is how many candidates there may be room for that is kept.
const mostRoom = 4096

// owner is a datasource that has hits.
type owner struct {
	*domain.ActiveDatasource      // of one that does not exist any more an empty one
	current                  bool // it has hits of its active generation
}

// gone is what is known of a datasource that does not exist.
var gone = &domain.ActiveDatasource{}

// owning is whose hits are.
type owning struct {
	of     []int          // of each hit, which of the owners it belongs to
	owners []owner        // each once
	ids    []string       // of owners
	known  map[string]int // where among owners a datasource is
}

var owningPool = sync.Pool{New: func() any { return &owning{known: make(map[string]int)} }}

func (o *owning) release() {
	if len(o.known) > mostRoom {
		return
	}
	clear(o.known)
	clear(o.owners)
	clear(o.ids)
	owningPool.Put(o)
}

// find finds the datasources of hits, of which only the id is known yet.
func (o *owning) find(hits []index.Hit) {
	o.of, o.owners, o.ids = slices.Grow(o.of[:0], len(hits))[:len(hits)], o.owners[:0], o.ids[:0]
	for i := range hits {
		id := hits[i].DatasourceID
		if i > 0 && hits[i-1].DatasourceID == id { // most stand together
			o.of[i] = o.of[i-1]
			continue
		}
		n, ok := o.known[id]
		if !ok {
			n = len(o.owners)
			o.known[id] = n
			o.owners, o.ids = append(o.owners, owner{gone, false}), append(o.ids, id)
		}
		o.of[i] = n
	}
}
