package milvus

import (
	"sync"

	"github.com/sluice/sluice/pkg/index"
)

// generation identifies the rows written by one job.
type generation struct {
	datastore, datasource string
	generation            uint64
}

func (g generation) expr() string {
	return equals(fieldDatastore, g.datastore) + " && " + equals(fieldDatasource, g.datasource) + " && " +
		fieldGeneration + " == " + formatGeneration(g.generation)
}

// generationOf returns the generation of a batch's rows, or false if there are several.
func generationOf(s index.Space, batch []*prepared) (generation, bool) {
	first := batch[0].row
	for _, p := range batch {
		if p.row.DatasourceID != first.DatasourceID || p.row.Generation != first.Generation {
			return generation{}, false
		}
	}
	return generation{s.DatastoreID, first.DatasourceID, first.Generation}, true
}

// Maximum number of cached generations.
const maxFresh = 4096

// freshGenerations records which generations were empty when this process began writing them, and the highest ordinal
// written to each so far. Rows with higher ordinals can't exist yet, so only a job's first batch has to check for
// existing rows.
type freshGenerations struct {
	mu   sync.Mutex
	last map[freshKey]int // highest ordinal written; noRows if none
}

type freshKey struct {
	collection string
	generation
}

const (
	noRows    = -1
	knownRows = -2 // has earlier rows, so every batch must check
)

// areUnseen reports whether it's certain that none of the batch's rows exist.
func (f *freshGenerations) areUnseen(collection, datastore string, batch []*prepared) bool {
	one, ok := generationOf(index.Space{DatastoreID: datastore}, batch)
	if !ok {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	last, ok := f.last[freshKey{collection, one}]
	return ok && last != knownRows && batch[0].row.Ordinal > last // batches are sorted
}

// known reports whether there is a record of the generation.
func (f *freshGenerations) known(collection string, g generation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.last[freshKey{collection, g}]
	return ok
}

func (f *freshGenerations) set(k freshKey, last int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || len(f.last) >= maxFresh {
		f.last = make(map[freshKey]int)
	}
	f.last[k] = last
}

// recordWrite records that a batch was written.
func (f *freshGenerations) recordWrite(collection, datastore string, batch []*prepared) {
	one, ok := generationOf(index.Space{DatastoreID: datastore}, batch)
	if !ok {
		f.forget(collection, datastore, batch)
		return
	}
	k := freshKey{collection, one}
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.last[k]; ok && last != knownRows {
		f.last[k] = max(last, batch[len(batch)-1].row.Ordinal)
	}
}

// forget drops the records about a batch's generations.
func (f *freshGenerations) forget(collection, datastore string, batch []*prepared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range batch {
		delete(f.last, freshKey{collection, generation{datastore, p.row.DatasourceID, p.row.Generation}})
	}
}
