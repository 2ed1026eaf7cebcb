package catalog

import (
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/domain"
)

// maxMemoBytes bounds about what a memo holds; beyond it, it starts anew.
const maxMemoBytes = 16 << 20

// memo keeps what every query asks of the catalog, as long as nothing has been committed that may change it. It serves the
// engine that one process writes to alone: what other processes do there beside it, with the commands for keys, repairs and
// replays, changes none of what is kept.
type memo struct {
	// commits is counted up before and after each commit: odd while there is one, of which it is not known yet whether
	// readers see it.
	commits atomic.Uint64

	mu     sync.Mutex
	as     uint64 // commits when what is kept was read
	active map[string]*domain.ActiveDatasource
	stores map[string]domain.Datastore
	size   int64
	asked  bool // since it was asked whether it may rest
}

// committing notes that a commit begins, and returns what is to be called at its end. Commits follow one another.
func (m *memo) committing() (done func()) {
	m.commits.Add(1)
	return func() { m.commits.Add(1) }
}

// version returns what is to be kept with what is read from now on. It reports false while that cannot be told.
func (m *memo) version() (uint64, bool) {
	v := m.commits.Load()
	return v, v%2 == 0
}

// at makes ready for a version, and reports whether it is not older than what is kept. The caller holds mu.
func (m *memo) at(version uint64) bool {
	if m.as < version || m.active == nil {
		m.as, m.size = version, 0
		m.active, m.stores = make(map[string]*domain.ActiveDatasource), make(map[string]domain.Datastore)
	}
	return m.as == version
}

// rest gives up what is kept, unless somebody has asked for it since rest was called last. It returns about how much that is.
func (m *memo) rest() (bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked {
		bytes = m.size
		m.active, m.stores, m.size = nil, nil, 0
	}
	m.asked = false
	return bytes
}

// known fills in those of the datasources that are kept of a version, and returns how many are not.
func (m *memo) known(version uint64, ids []string, out []*domain.ActiveDatasource) (missing int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at(version) {
		return len(ids)
	}
	m.asked = true
	for i, id := range ids {
		if out[i] = m.active[id]; out[i] == nil {
			missing++
		}
	}
	return missing
}

// keep keeps datasources that were read at a version.
func (m *memo) keep(version uint64, found []sized) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range found {
		if !m.at(version) {
			return
		}
		if m.size += a.bytes; m.size > maxMemoBytes {
			m.active, m.size = make(map[string]*domain.ActiveDatasource), a.bytes
		}
		m.active[a.ID] = a.ActiveDatasource
	}
}

// store returns a datastore that is kept of a version.
func (m *memo) store(version uint64, id string) (domain.Datastore, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at(version) {
		return domain.Datastore{}, false
	}
	d, ok := m.stores[id]
	return d, ok
}

// keepStore keeps a datastore that was read at a version.
func (m *memo) keepStore(version uint64, d domain.Datastore) {
	const most = 4096
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at(version) {
		return
	}
	if len(m.stores) >= most {
		clear(m.stores)
	}
	m.stores[d.ID] = d
}
