package ingest

import (
	"context"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	// ShortPerLong is how many short documents count as one long one. Short documents mostly wait for the disk, which
	// can serve several in parallel, whereas long ones are CPU-bound.
	ShortPerLong = 4
	// Maximum text sizes of short, medium and long documents, in bytes. A short document weighs 1, a medium one 2, a
	// long one ShortPerLong, and anything larger hugeWeight.
	shortText  = 32 << 10
	middleText = 64 << 10
	longText   = 16 << 20
	hugeWeight = 4 * ShortPerLong
	// maxWaitingDocuments is the maximum number of documents waiting for a reader.
	maxWaitingDocuments = 2
)

// Admission limits how many documents are in memory at once, weighted by size. The size is known only after reading,
// since a small file may contain a large document. Workspaces take turns. A workspace that has no document in memory
// may exceed the limit by one long document. A nil Admission means no limit. It is safe for concurrent use.
type Admission struct {
	reading *admission.Gate
	texts   *admission.Gate
}

// NewAdmission returns an Admission that admits up to `long` long documents at the same time, or ShortPerLong times as
// many short ones. A few additional documents may be in memory while they are being read or are waiting for admission.
// `readers` is the number of documents that can be read at the same time.
func NewAdmission(readers, long int) *Admission {
	gate := func(limit, spare int) *admission.Gate {
		return admission.New(admission.Options{Limit: limit + spare, Spare: spare, Waiting: -1})
	}
	return &Admission{
		reading: gate(min(max(readers, 1)+maxWaitingDocuments, max(long, 1)), 1),
		texts:   gate(max(long, 1)*ShortPerLong, ShortPerLong),
	}
}

// read calls the given function to read a document and waits until the document is admitted. The caller must call
// `leave` once it no longer needs the document.
//
// A document keeps its reading slot while it waits, so only a few unadmitted documents are in memory at a time. This
// can't deadlock, because an admitted document never waits for a reading slot.
func (r *Admission) read(ctx context.Context, workspace string, read func() (*domain.Document, error)) (doc *domain.Document, leave func(), err error) {
	if r == nil {
		doc, err = read()
		return doc, func() {}, err
	}
	slot, ok := r.reading.Enter(ctx, workspace)
	if !ok {
		return nil, nil, context.Cause(ctx)
	}
	defer slot.Leave()
	if doc, err = read(); err != nil {
		return nil, nil, err
	}
	room, ok := r.texts.EnterWeighted(ctx, workspace, weightOf(doc))
	if !ok {
		return nil, nil, context.Cause(ctx)
	}
	return doc, room.Leave, nil
}

// slot waits for a reading slot for a file that isn't held in memory, such as an archive. The caller must call `leave`
// after reading the file.
func (r *Admission) slot(ctx context.Context, workspace string) (leave func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	slot, ok := r.reading.Enter(ctx, workspace)
	if !ok {
		return nil, context.Cause(ctx)
	}
	return slot.Leave, nil
}

// weightOf returns a document's weight against the limit. A short document weighs 1.
func weightOf(doc *domain.Document) int {
	size := 0
	for _, b := range doc.Blocks {
		size += len(b.Text)
	}
	switch {
	case size <= shortText:
		return 1
	case size <= middleText:
		return 2
	case size <= longText:
		return ShortPerLong
	}
	return hugeWeight
}
