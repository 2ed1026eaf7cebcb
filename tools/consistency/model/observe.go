package model

// Visible checks and records a read that found the version searchable.
func (d *Document) Visible(version int, in Interval, how string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, err := d.known(version, in, how)
	if err != nil {
		return err
	}
	for _, p := range d.ops {
		switch {
		case p == o:
		case p.isDeletion() && p.latest < in.From && o.precedes(p):
			return d.violation(Resurrected, in, "version %d is found by %s after its deletion was answered at %.3fs", version, how, p.to.Seconds())
		case !p.isDeletion() && p.seen < in.From && o.precedes(p):
			return d.violation(Reverted, in, "version %d is found by %s, but version %d was searchable at %.3fs", version, how, p.version, p.seen.Seconds())
		}
	}
	if o.past < in.From {
		return d.violation(Reverted, in, "version %d is found by %s, but had been replaced by %.3fs", version, how, o.past.Seconds())
	}
	d.noteSight(in, o.sight(), how)
	o.latest, o.seen = min(o.latest, in.To), min(o.seen, in.To)
	d.supersede(o, in)
	return nil
}

func (o *Op) sight() string { return "searchable " + o.String()[len("write "):] }

// known returns the write of a version that a read has found. If no write can have made that version visible, known
// returns a violation.
func (d *Document) known(version int, in Interval, how string) (*Op, error) {
	o := d.find(version)
	switch {
	case o != nil && o.from <= in.To:
		return o, nil
	case o == nil && version > 0 && version <= d.versions:
		return nil, d.violation(Reverted, in, "version %d is found by %s, but was replaced or deleted long before", version, how)
	default:
		return nil, d.violation(Invented, in, "version %d is found by %s, but was not written", version, how)
	}
}

// supersede records that earlier reads' versions are no longer searchable. `o` is the write that the current read
// found, or nil.
func (d *Document) supersede(o *Op, in Interval) {
	for _, p := range d.ops {
		if p != o && p.seen < in.From {
			p.past = min(p.past, in.To)
		}
	}
}

// Invisible checks and records a read that didn't find the document searchable.
func (d *Document) Invisible(in Interval, how string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.ops {
		if o.isDeletion() || o.seen >= in.From || d.mayBeDeleted(o, in) {
			continue
		}
		return d.violation(Lost, in, "%s finds nothing, but version %d was searchable at %.3fs and no deletion followed", how, o.version, o.seen.Seconds())
	}
	d.noteSight(in, "not searchable", how)
	d.supersede(nil, in)
	return nil
}

// mayBeDeleted reports whether a deletion may have taken effect after the write and before the end of the interval.
func (d *Document) mayBeDeleted(o *Op, in Interval) bool {
	for _, p := range d.ops {
		if p.isDeletion() && p.from <= in.To && !p.precedes(o) {
			return true
		}
	}
	return false
}

// Accepted checks and records a read of the datasource that showed `version` as the newest content. If `searchable` is
// true, the datasource's status was synched, so queries see that version from then on.
func (d *Document) Accepted(version int, searchable bool, in Interval, how string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, err := d.known(version, in, how)
	if err != nil {
		return err
	}
	for _, p := range d.ops {
		if p == o || p.latest >= in.From || !o.precedes(p) {
			continue
		}
		if p.isDeletion() {
			return d.violation(Resurrected, in, "%s shows version %d after its deletion was answered at %.3fs", how, version, p.to.Seconds())
		}
		return d.violation(Lost, in, "%s shows version %d as the newest, but version %d was accepted by %.3fs", how, version, p.version, p.latest.Seconds())
	}
	o.latest = min(o.latest, in.To)
	if searchable {
		o.seen = min(o.seen, in.To)
		d.noteSight(in, o.sight(), how)
		d.supersede(o, in)
	}
	return nil
}

// Missing checks a read that found no datasource for the document.
func (d *Document) Missing(in Interval, how string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.ops {
		if o.isDeletion() || o.latest >= in.From || d.mayBeDeleted(o, in) {
			continue
		}
		return d.violation(Lost, in, "%s finds no datasource, but version %d was accepted by %.3fs and no deletion followed", how, o.version, o.latest.Seconds())
	}
	return nil
}

// Present checks a read that found a datasource by its id, which is a violation if the datasource was deleted before.
// Only the latest deletions are remembered. Visible and Accepted notice older deletions by the document's version.
func (d *Document) Present(id string, in Interval, how string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, gone := range d.deleted {
		if gone.id == id && gone.at < in.From {
			return d.violation(Resurrected, in, "%s finds datasource %s, whose deletion was answered at %.3fs", how, id, gone.at.Seconds())
		}
	}
	return nil
}

// Deleted returns the ids of the most recently deleted datasources.
func (d *Document) Deleted() (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, gone := range d.deleted {
		ids = append(ids, gone.id)
	}
	return ids
}
