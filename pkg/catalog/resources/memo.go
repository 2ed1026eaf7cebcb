package resources

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/domain"
)

// maxChanged bounds the datasources that are remembered to have changed; beyond it, all have.
const maxChanged = 4096

// Memo keeps what every query asks of the catalog until a commit changes it. It serves the engine that one process writes to
// alone: what other processes do there beside it, with the commands for keys, repairs and replays, changes none of what is
// kept. What is kept is always as new as the last commit, so that a query asks the database for no more than has changed,
// however often that happens: to ask for all of it at each upload would cost a process that is busy a third of its time.
type Memo struct {
	// commits is counted up before and after each commit that changes what may be kept: odd while there is one, of which it is
	// not known yet whether readers see it. It changes with mu held.
	commits atomic.Uint64

	max int64 // about what it holds at most; it starts anew with what would be more

	mu     sync.Mutex
	active map[string]sized
	stores map[string]domain.Datastore
	size   int64
	asked  bool // since it was asked whether it may rest

	// What the one connection that writes has changed since the last commit, or since one was undone: that is forgotten for
	// nothing, and no harm.
	changed    map[string]struct{} // datasources
	everything bool                // more than these
}

// NewMemo returns an empty memo of about as many bytes at most.
func NewMemo(bytes int64) *Memo { return &Memo{max: bytes} }

// The tables that what is kept is read from.
const (
	tableSources = "datasources"
	tableStores  = "datastores"
	tableDoomed  = "doomed_sites"
)

// Change notes that a row of a table is about to be changed, removed or added. id tells which datasource one was that is there,
// and may fail.
func (m *Memo) Change(table string, added bool, id func() (string, error)) {
	one := table == tableSources
	if !one && table != tableStores && table != tableDoomed || added && table != tableDoomed { // of what is not there nothing is kept
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.everything {
		return
	}
	var source string
	err := errors.ErrUnsupported
	if one && len(m.changed) < maxChanged {
		source, err = id()
	}
	if err != nil { // or the others: few of them change, and each changes much
		m.everything, m.changed = true, nil
		return
	}
	if m.changed == nil {
		m.changed = make(map[string]struct{})
	}
	m.changed[source] = struct{}{}
}

// Committing forgets what a commit changes, which begins now, and returns what is to be called at its end. Commits follow one
// another.
func (m *Memo) Committing() (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.everything && len(m.changed) == 0 {
		return func() {}
	}
	m.commits.Add(1)
	if m.everything {
		m.drop()
	}
	for id := range m.changed {
		m.size -= m.active[id].bytes
		delete(m.active, id)
	}
	m.changed, m.everything = nil, false
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.commits.Add(1)
	}
}

// Forget gives up what is kept.
func (m *Memo) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop()
}

// drop is forget for a caller that holds mu.
func (m *Memo) drop() {
	m.active, m.stores, m.size = nil, nil, 0
}

// rest gives up what is kept, unless somebody has asked for it since rest was called last. It returns about how much that is.
func (m *Memo) rest() (bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked {
		bytes = m.size
		m.drop()
	}
	m.asked = false
	return bytes
}

// known fills in those of the datasources that are kept, and returns how many are not, and the version to keep these with once
// they are read. As long as commits is what the version says, what is filled in and what is read are of one time.
func (m *Memo) known(ids []string, out []*domain.ActiveDatasource) (missing int, version uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = true
	for i, id := range ids {
		if out[i] = m.active[id].ActiveDatasource; out[i] == nil {
			missing++
		}
	}
	return missing, m.commits.Load()
}

// keep keeps datasources that were read at a version, unless a commit may have changed them since.
func (m *Memo) keep(version uint64, found []sized) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.current(version) {
		return
	}
	for _, a := range found {
		m.size -= m.active[a.ID].bytes
		delete(m.active, a.ID)
		if !m.room(a.bytes) {
			continue
		}
		if m.active == nil {
			m.active = make(map[string]sized)
		}
		m.active[a.ID] = a
	}
}

// current reports whether what was read at a version is what there is now. The caller holds mu.
func (m *Memo) current(version uint64) bool {
	return version%2 == 0 && version == m.commits.Load()
}

// room makes room for so many bytes more, and reports whether there is any. The caller holds mu.
func (m *Memo) room(bytes int64) bool {
	if bytes > m.max {
		return false
	}
	if m.size+bytes > m.max {
		m.drop()
	}
	m.size += bytes
	return true
}

// store returns a datastore that is kept, or else the version to keep it with.
func (m *Memo) store(id string) (d domain.Datastore, ok bool, version uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok = m.stores[id]
	return d, ok, m.commits.Load()
}

// keepStore keeps a datastore that was read at a version, unless a commit may have changed it since.
func (m *Memo) keepStore(version uint64, d domain.Datastore) {
	const fixed = 512
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.stores[d.ID]; known || !m.current(version) {
		return
	}
	if !m.room(int64(fixed + len(d.Name) + len(d.Description))) {
		return
	}
	if m.stores == nil {
		m.stores = make(map[string]domain.Datastore)
	}
	m.stores[d.ID] = d
}
