package resources

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of changed datasources tracked individually. If there are more, all datasources count as changed.
const maxChanged = 4096

// ReadCache caches what queries need. It is used only with SQLite, where a single process changes this data. Commands
// for keys, repairs and replays run in other processes but don't change it. The cache always reflects the last commit.
// A commit invalidates only the rows it changes, because clearing the cache after each upload would cost a busy process
// a third of its time.
type ReadCache struct {
	// commits is incremented, with mu held, before and after each commit that changes cacheable data. While it is odd,
	// a reader may see the state from before or after the commit.
	commits atomic.Uint64

	max int64 // approximate maximum size in bytes; the cache is cleared before it would exceed this

	mu     sync.Mutex
	active map[string]sizedDatasource
	stores map[string]domain.Datastore
	size   int64
	used   bool // whether the cache has been used since the last call to clearIdle

	// Rows changed by the writing connection since the last commit or rollback. Invalidating them after a rollback is
	// unnecessary but harmless.
	changed    map[string]struct{} // datasources
	changedAll bool                // whether any datasource may have changed
}

// NewReadCache returns an empty cache of about this size in bytes.
func NewReadCache(bytes int64) *ReadCache { return &ReadCache{max: bytes} }

// Tables that contain cached data.
const (
	tableSources = "datasources"
	tableStores  = "datastores"
	tableDoomed  = "doomed_sites"
)

// Change notes that a row is about to be inserted, changed or deleted. For an existing datasource, id() returns its id
// or an error.
func (m *ReadCache) Change(table string, added bool, id func() (string, error)) {
	one := table == tableSources
	if !one && table != tableStores && table != tableDoomed || added && table != tableDoomed { // new rows are not cached
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changedAll {
		return
	}
	var source string
	err := errors.ErrUnsupported
	if one && len(m.changed) < maxChanged {
		source, err = id()
	}
	if err != nil { // also applies to other tables, whose rows rarely change but affect many datasources
		m.changedAll, m.changed = true, nil
		return
	}
	if m.changed == nil {
		m.changed = make(map[string]struct{})
	}
	m.changed[source] = struct{}{}
}

// Committing invalidates the rows that the upcoming commit changes. The caller must call done when the commit has
// ended, successfully or not. Commits never overlap.
func (m *ReadCache) Committing() (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.changedAll && len(m.changed) == 0 {
		return func() {}
	}
	m.commits.Add(1)
	if m.changedAll {
		m.clear()
	}
	for id := range m.changed {
		m.size -= m.active[id].bytes
		delete(m.active, id)
	}
	m.changed, m.changedAll = nil, false
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.commits.Add(1)
	}
}

// Forget clears the cache.
func (m *ReadCache) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
}

// clear must be called with mu held.
func (m *ReadCache) clear() {
	m.active, m.stores, m.size = nil, nil, 0
}

// clearIdle clears the cache if it has not been used since the last call. It returns approximately how many bytes were
// freed.
func (m *ReadCache) clearIdle() (bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.used {
		bytes = m.size
		m.clear()
	}
	m.used = false
	return bytes
}

// getDatasources sets each element of out to the cached datasource, or to nil if it isn't cached, and returns how many
// are missing. The caller reads the missing ones and passes them to putDatasources with the returned version. If
// m.commits has changed in the meantime, cached and newly read data may be inconsistent.
func (m *ReadCache) getDatasources(ids []string, out []*domain.ActiveDatasource) (missing int, version uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = true
	for i, id := range ids {
		if out[i] = m.active[id].ActiveDatasource; out[i] == nil {
			missing++
		}
	}
	return missing, m.commits.Load()
}

// putDatasources caches datasources read at the given version, unless a commit may have changed them since.
func (m *ReadCache) putDatasources(version uint64, found []sizedDatasource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isCurrent(version) {
		return
	}
	for _, a := range found {
		m.size -= m.active[a.ID].bytes
		delete(m.active, a.ID)
		if !m.reserve(a.bytes) {
			continue
		}
		if m.active == nil {
			m.active = make(map[string]sizedDatasource)
		}
		m.active[a.ID] = a
	}
}

// isCurrent reports whether data read at this version is still current. The caller must hold mu.
func (m *ReadCache) isCurrent(version uint64) bool {
	return version%2 == 0 && version == m.commits.Load()
}

// reserve frees up this many bytes, or returns false if the cache is too small. The caller must hold mu.
func (m *ReadCache) reserve(bytes int64) bool {
	if bytes > m.max {
		return false
	}
	if m.size+bytes > m.max {
		m.clear()
	}
	m.size += bytes
	return true
}

// getDatastore returns a cached datastore. If it is not cached, the caller reads it and passes it to putDatastore with
// the returned version.
func (m *ReadCache) getDatastore(id string) (d domain.Datastore, ok bool, version uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok = m.stores[id]
	return d, ok, m.commits.Load()
}

// putDatastore caches a datastore read at the given version, unless a commit may have changed it since.
func (m *ReadCache) putDatastore(version uint64, d domain.Datastore) {
	const fixed = 512
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.stores[d.ID]; known || !m.isCurrent(version) {
		return
	}
	if !m.reserve(int64(fixed + len(d.Name) + len(d.Description))) {
		return
	}
	if m.stores == nil {
		m.stores = make(map[string]domain.Datastore)
	}
	m.stores[d.ID] = d
}
