package milvus

import (
	"sync"

	"github.com/sluice/sluice/pkg/index"
)

// generation names the rows that one job writes.
type generation struct {
	datastore, datasource string
	generation            uint64
}

func (g generation) expr() string {
	return equals(fieldDatastore, g.datastore) + " && " + equals(fieldDatasource, g.datasource) + " && " +
		fieldGeneration + " == " + formatGeneration(g.generation)
}

// generationOf tells the generation that all rows of a batch belong to, if they do.
func generationOf(s index.Space, batch []*prepared) (generation, bool) {
	first := batch[0].row
	for _, p := range batch {
		if p.row.DatasourceID != first.DatasourceID || p.row.Generation != first.Generation {
			return generation{}, false
		}
	}
	return generation{s.DatastoreID, first.DatasourceID, first.Generation}, true
}

// maxFresh bounds how many generations are remembered.
const maxFresh = 4096

// freshGenerations remembers which generations had no rows when this process began to write them, and how far it has come:
// what follows in order need not be looked for. It saves a question for each batch but a job's first.
type freshGenerations struct {
	mu   sync.Mutex
	last map[freshKey]int // the highest ordinal written; beforeFirst when none
}

type freshKey struct {
	collection string
	generation
}

const (
	beforeFirst = -1
	notFresh    = -2 // it had rows: every batch asks
)

// unseen reports that none of a batch's rows can be there.
func (f *freshGenerations) unseen(collection, datastore string, batch []*prepared) bool {
	one, ok := generationOf(index.Space{DatastoreID: datastore}, batch)
	if !ok {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	last, ok := f.last[freshKey{collection, one}]
	return ok && last != notFresh && batch[0].row.Ordinal > last // a batch is in order
}

// known reports that it was asked before whether a generation has rows.
func (f *freshGenerations) known(collection string, g generation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.last[freshKey{collection, g}]
	return ok
}

// set remembers how far a generation has been written.
func (f *freshGenerations) set(k freshKey, last int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || len(f.last) >= maxFresh {
		f.last = make(map[freshKey]int)
	}
	f.last[k] = last
}

// wrote remembers that a batch has been written.
func (f *freshGenerations) wrote(collection, datastore string, batch []*prepared) {
	one, ok := generationOf(index.Space{DatastoreID: datastore}, batch)
	if !ok {
		f.forget(collection, datastore, batch)
		return
	}
	k := freshKey{collection, one}
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.last[k]; ok && last != notFresh {
		f.last[k] = max(last, batch[len(batch)-1].row.Ordinal)
	}
}

// forget drops what is remembered of a batch's generations.
func (f *freshGenerations) forget(collection, datastore string, batch []*prepared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range batch {
		delete(f.last, freshKey{collection, generation{datastore, p.row.DatasourceID, p.row.Generation}})
	}
}
