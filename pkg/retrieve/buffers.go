package retrieve

import (
	"slices"
	"sync"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// A query ranks hundreds of candidates but returns copies of only a few, so the candidates' memory is pooled.

// buffer holds a search's hits and the candidates made from them.
type buffer struct {
	found      index.Result
	candidates []candidate // empty, with capacity for all hits
}

var bufferPool = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer(found index.Result) *buffer {
	b := bufferPool.Get().(*buffer)
	b.found, b.candidates = found, slices.Grow(b.candidates[:0], len(found.Hits))
	return b
}

// release returns the candidates' memory to the pool. The candidates must not be used afterwards.
func (res *datastoreResult) release() {
	if res.buffer == nil {
		return
	}
	b := res.buffer
	clear(res.candidates)
	res.buffer, res.candidates = nil, nil
	b.found.Release()
	b.found = index.Result{}
	if cap(b.candidates) <= maxPooled {
		bufferPool.Put(b)
	}
}

// Maximum capacity of a pooled buffer, in candidates.
const maxPooled = 4096

// datasourceHits is a datasource with hits.
type datasourceHits struct {
	*domain.ActiveDatasource      // empty if the datasource no longer exists
	current                  bool // has hits in its active generation
}

// deletedDatasource stands for datasources that no longer exist.
var deletedDatasource = &domain.ActiveDatasource{}

// datasourceSet maps hits to their datasources.
type datasourceSet struct {
	of     []int            // per hit, an index in `owners`
	owners []datasourceHits // without duplicates
	ids    []string         // ids of owners
	known  map[string]int   // datasource id → index in `owners`
}

var datasourceSetPool = sync.Pool{New: func() any { return &datasourceSet{known: make(map[string]int)} }}

func (o *datasourceSet) release() {
	if len(o.known) > maxPooled {
		return
	}
	clear(o.known)
	clear(o.owners)
	clear(o.ids)
	datasourceSetPool.Put(o)
}

// find collects the ids of the hits' datasources. They all count as deleted until the caller has looked them up.
func (o *datasourceSet) find(hits []index.Hit) {
	o.of, o.owners, o.ids = slices.Grow(o.of[:0], len(hits))[:len(hits)], o.owners[:0], o.ids[:0]
	for i := range hits {
		id := hits[i].DatasourceID
		if i > 0 && hits[i-1].DatasourceID == id { // adjacent hits often share a datasource
			o.of[i] = o.of[i-1]
			continue
		}
		n, ok := o.known[id]
		if !ok {
			n = len(o.owners)
			o.known[id] = n
			o.owners, o.ids = append(o.owners, datasourceHits{deletedDatasource, false}), append(o.ids, id)
		}
		o.of[i] = n
	}
}
