package domain

// applyArchive turns a file into an archive and requests unpacking. Files that can't become archives, such as those
// inside an archive and those from OpenAI's API, fail instead.
func applyArchive(d *Datasource, store Datastore, ev Event, current bool) Outcome {
	if d.Type != TypeFile || d.GroupID != "" || d.FileID() != "" || ev.Move != "" || d.Original == nil {
		return applyError(d, store, ev, current)
	}
	if !current || d.Status.Terminal() {
		return Outcome{}
	}
	out := Outcome{Changed: true, Settled: true, Begins: true}
	original := d.Original
	d.Original = nil // keep the archive: it may have to be unpacked again
	out.removeContent(d, ev.Generation)
	d.SetOriginal(*original)
	d.Type = TypeArchive
	d.BeginCrawl(ev.At)
	d.finish(StatusUnsynched, ev.At)
	job := newIngestJob(ArchiveJobID(ev.JobID, ev.Generation), *d, store)
	job.Force = ev.Force
	out.next(d, job)
	return out
}

// applyUnpacked handles the end of an archive's job. If the job was overtaken, it may have started before the
// datasource became an archive. In that case, it has read the datasource's earlier content, so its rows are swept.
func applyUnpacked(d *Datasource, ev Event, current bool) (out Outcome) {
	if current {
		return applyDiscoveryDone(d, ev, current)
	}
	for _, p := range ev.Places {
		out.sweep(d, p, ev.Generation, ev.Generation+1)
	}
	return out
}

// SetOriginal makes o the content of d, including its type, size and checksum.
func (d *Datasource) SetOriginal(o Original) {
	d.Original = &o
	d.Config.MIMEType, d.Config.FileSize, d.Config.SHA256 = o.MIMEType, o.Size, o.SHA256
}

// NewMember returns the datasource for a file in the archive d. o is the file's content, and o.Name its path in the
// archive. The datasource inherits the archive's metadata.
func (d *Datasource) NewMember(o Original) Datasource {
	m := Datasource{
		ID: MemberID(d.ID, o.Name), WorkspaceID: d.WorkspaceID, DatastoreID: d.DatastoreID, GroupID: d.ID, Type: TypeFile,
		Name: o.Name, Metadata: d.Metadata, Config: DatasourceConfig{FileName: o.Name},
	}
	m.SetOriginal(o)
	return m
}

// HasMember reports whether an archive's file needs no new job after the archive was unpacked again: the file's content
// is still o, and it was or will be read. A file that couldn't be read is read again.
func (d *Datasource) HasMember(o Original) bool {
	return d.Original != nil && d.Original.SHA256 == o.SHA256 && d.Original.Size == o.Size && d.Status != StatusError
}

// ReplaceMember replaces a file's content with its content in a new version of the archive. It returns the key of the
// original that is no longer needed.
func (d *Datasource) ReplaceMember(o Original) (unneeded string) {
	if old := d.Original; old != nil {
		unneeded = old.Key
	}
	d.SetOriginal(o)
	d.Unchanged = false
	return unneeded
}
