package load

import (
	"slices"
	"sync"
)

// Ledger records which changes to documents were sent and which were acknowledged. It is safe for concurrent use.
type Ledger struct {
	mu        sync.Mutex
	datastore string
	documents map[Name]*record
}

// record is the ledger's entry for a document.
type record struct {
	id           string // datasource id; "" if it doesn't exist
	acknowledged State
	sent         *State // change without a response; nil if there is none
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{documents: map[Name]*record{}} }

// Expectation holds the states that a document may be in after a power loss.
type Expectation struct {
	Name
	Acknowledged State
	// Sent is the state after a change without a response, which may or may not have happened. It is nil if there is no
	// such change.
	Sent *State
}

// MayExist reports whether the document may exist.
func (e Expectation) MayExist() bool {
	return e.Acknowledged.Exists() || e.Sent != nil && e.Sent.Exists()
}

// MayBeAbsent reports whether the document may be missing.
func (e Expectation) MayBeAbsent() bool {
	return !e.Acknowledged.Exists() || e.Sent != nil && !e.Sent.Exists()
}

// Expected holds the states that all documents may be in after a power loss.
type Expected struct {
	Datastore string // "" if the datastore's creation was not acknowledged
	Documents []Expectation
}

// Acknowledged returns how many documents have an acknowledged change.
func (e Expected) Acknowledged() (n int) {
	for _, d := range e.Documents {
		if d.Acknowledged.Version > 0 {
			n++
		}
	}
	return n
}

// Sent returns how many documents have a change without a response.
func (e Expected) Sent() (n int) {
	for _, d := range e.Documents {
		if d.Sent != nil {
			n++
		}
	}
	return n
}

// Replaced returns how many acknowledged versions were replaced or deleted.
func (e Expected) Replaced() (n int) {
	for _, d := range e.Documents {
		n += d.Acknowledged.Version
		if d.Acknowledged.Exists() {
			n--
		}
	}
	return n
}

// Expected returns the states that documents may be in if the power fails now.
func (l *Ledger) Expected() Expected {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := Expected{Datastore: l.datastore}
	for name, r := range l.documents {
		x := Expectation{Name: name, Acknowledged: r.acknowledged}
		if r.sent != nil {
			sent := *r.sent
			x.Sent = &sent
		}
		e.Documents = append(e.Documents, x)
	}
	slices.SortFunc(e.Documents, func(a, b Expectation) int {
		if a.CustomID < b.CustomID {
			return -1
		}
		return 1
	})
	return e
}

func (l *Ledger) created(datastore string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.datastore = datastore
}

// change is a change to one document.
type change struct {
	name Name
	to   State
}

// send records changes that are about to be sent.
func (l *Ledger) send(changes ...change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		r := l.documents[c.name]
		if r == nil {
			r = &record{}
			l.documents[c.name] = r
		}
		r.sent = &c.to
	}
}

// acknowledge records that the service has acknowledged the changes. `ids` holds the documents' datasource ids, in the
// same order.
func (l *Ledger) acknowledge(ids []string, changes ...change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range changes {
		r := l.documents[c.name]
		r.id, r.acknowledged, r.sent = ids[i], c.to, nil
	}
}

// idOf returns the id of the document's datasource.
func (l *Ledger) idOf(n Name) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.documents[n].id
}
