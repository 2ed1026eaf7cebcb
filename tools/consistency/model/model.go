// Package model decides whether a service's answers are possible. It records every document's history (writes and
// deletions, with the times of request and answer) and what readers observe. An observation that no order of the
// operations explains is a violation. The package does no I/O.
//
// Each document is described by two registers. The accepted register changes when a write or a deletion succeeds, and
// every later read of the datasource must show the change. The visible register is what queries find. It follows the
// accepted register in the same order, but may lag behind and skip versions. A deletion takes effect on both at once.
//
// An operation without an answer may take effect at any later time, or never. Once a reader has seen the version that
// it wrote, the operation is known to have taken effect.
package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Forever is the end of an operation with an unknown outcome.
const Forever = time.Duration(math.MaxInt64)

// Interval is the time between a request and its answer, counted from the start of the run.
type Interval struct{ From, To time.Duration }

// Kind is a kind of violation.
type Kind string

// Kinds of violations.
const (
	Lost        Kind = "lost"        // accepted or searchable content is missing
	Duplicated  Kind = "duplicated"  // a document exists twice
	Mixed       Kind = "mixed"       // parts of several versions or documents, or an incomplete version
	Resurrected Kind = "resurrected" // deleted content is back
	Reverted    Kind = "reverted"    // an older version is back
	Leaked      Kind = "leaked"      // another workspace's content
	Invented    Kind = "invented"    // content that nobody wrote
	Refused     Kind = "refused"     // a valid request was rejected for good, or content ended with an error
)

// Violation is an observation that no order of the operations explains.
type Violation struct {
	Kind    Kind
	Tag     Tag
	What    string
	History string // operations on the document and observations of it
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s: document %s: %s\n%s", strings.ToUpper(string(v.Kind)), v.Tag, v.What, v.History)
}

// Op is an operation on a document: a write or a deletion.
type Op struct {
	document *Document
	version  int // 0 for a deletion
	from, to time.Duration
	// latest is the latest time at which the operation can have taken effect: `to`, or an earlier time if a reader saw the
	// operation's effect before.
	latest time.Duration
	// seen is the end of the first read that found the version searchable.
	seen time.Duration
	// past is the end of the first read that found the version no longer searchable.
	past time.Duration
}

func (o *Op) isDeletion() bool { return o.version == 0 }

// precedes reports whether o certainly took effect before p.
func (o *Op) precedes(p *Op) bool { return o.latest < p.from }

// deletion is an answered request to delete a datasource.
type deletion struct {
	id string
	at time.Duration // when it was answered
}

// Number of deletions to remember per document, with their datasource ids.
const maxDeletions = 8

// Document is a document's history. It is safe for concurrent use.
type Document struct {
	Tag Tag

	mu        sync.Mutex
	ops       []*Op
	versions  int        // versions written so far
	id        string     // datasource id; "" if there is none or it is unknown
	deleted   []deletion // the most recent answered ones
	log       []string
	truncated int // entries dropped from log
	lastSight string
}

// New returns a document with an empty history.
func New(tag Tag) *Document { return &Document{Tag: tag} }

// ID returns the document's datasource id, or "" if there is none or it is unknown.
func (d *Document) ID() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.id
}

// Latest returns the newest version, or 0 if nothing was written.
func (d *Document) Latest() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.versions
}

// BeginWrite records a request to write the next version. `by` describes it in the history.
func (d *Document) BeginWrite(at time.Duration, by string) (*Op, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.versions++
	return d.begin(d.versions, at, by), d.versions
}

// BeginDelete records a request to delete the datasource.
func (d *Document) BeginDelete(at time.Duration, by string) *Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begin(0, at, by)
}

func (d *Document) begin(version int, at time.Duration, by string) *Op {
	o := &Op{document: d, version: version, from: at, to: Forever, latest: Forever, seen: Forever, past: Forever}
	d.forget()
	d.ops = append(d.ops, o)
	d.note(at, "%s … by %s", o, by)
	return o
}

// String implements fmt.Stringer.
func (o *Op) String() string {
	if o.isDeletion() {
		return "delete"
	}
	return fmt.Sprintf("write v%d", o.version)
}

// Done records that the request succeeded. `id` is the written or deleted datasource's id.
func (o *Op) Done(at time.Duration, id string) {
	d := o.document
	d.mu.Lock()
	defer d.mu.Unlock()
	o.to, o.latest = at, min(o.latest, at)
	if o.isDeletion() {
		if len(d.deleted) == maxDeletions {
			d.deleted = slices.Delete(d.deleted, 0, 1)
		}
		d.deleted = append(d.deleted, deletion{id, at})
		d.id = ""
	} else {
		d.id = id
	}
	d.note(at, "%s done, datasource %s", o, id)
}

// Unknown records that the request got no answer. It may still take effect at any time.
func (o *Op) Unknown(at time.Duration, why error) {
	d := o.document
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(at, "%s unknown: %v", o, why)
}

// Cancelled records that the request certainly had no effect.
func (o *Op) Cancelled(at time.Duration, why error) {
	d := o.document
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = slices.DeleteFunc(d.ops, func(p *Op) bool { return p == o })
	d.note(at, "%s had no effect: %v", o, why)
}

// forget removes writes that are certainly superseded, because a later operation's effect has been seen. Seeing a
// removed write's version again is a violation.
func (d *Document) forget() {
	const enough = 16
	if len(d.ops) < enough {
		return
	}
	settled := func(p *Op) bool { return p.to != Forever && (p.isDeletion() || p.seen != Forever) }
	last := -1
	for i, p := range d.ops {
		if settled(p) {
			last = i
		}
	}
	if last < 0 {
		return
	}
	d.ops = slices.DeleteFunc(d.ops, func(p *Op) bool { return p.precedes(d.ops[last]) })
}

func (d *Document) find(version int) *Op {
	for _, o := range d.ops {
		if o.version == version {
			return o
		}
	}
	return nil
}

const maxLog = 200

func (d *Document) note(at time.Duration, format string, args ...any) {
	if len(d.log) == maxLog {
		d.log = slices.Delete(d.log, 0, maxLog/4)
		d.truncated += maxLog / 4
	}
	d.log = append(d.log, fmt.Sprintf("%12.3fs  ", at.Seconds())+fmt.Sprintf(format, args...))
}

// noteSight records an observation, unless it is the same as the last one.
func (d *Document) noteSight(in Interval, what, how string) {
	if what == d.lastSight {
		return
	}
	d.lastSight = what
	d.note(in.To, "%s, by %s since %.3fs", what, how, in.From.Seconds())
}

// History returns the operations and observations in chronological order.
func (d *Document) History() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.history()
}

func (d *Document) history() string {
	var b strings.Builder
	if d.truncated > 0 {
		fmt.Fprintf(&b, "              %d older entries\n", d.truncated)
	}
	for _, line := range d.log {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// violation returns a Violation that describes an impossible observation.
func (d *Document) violation(kind Kind, in Interval, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	d.note(in.To, "VIOLATION %s: %s", kind, what)
	return &Violation{Kind: kind, Tag: d.Tag, What: what, History: d.history()}
}

// Violate records a violation that the caller found in an answer.
func (d *Document) Violate(kind Kind, in Interval, format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.violation(kind, in, format, args...)
}
