package ingest

import (
	"context"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	// ShortPerLong is the number of short documents that count as one long document. Short documents mostly wait for
	// the disk, which can serve several of them at the same time. Long documents need the processor.
	ShortPerLong = 4
	// Maximum sizes of short, middle and long documents, in bytes of text. A short document has the weight 1, a middle
	// one 2, a long one ShortPerLong, and a larger one hugeWeight.
	shortText  = 32 << 10
	middleText = 64 << 10
	longText   = 16 << 20
	hugeWeight = 4 * ShortPerLong
	// maxWaitingDocuments is the maximum number of documents that may be waiting for a reader.
	maxWaitingDocuments = 2
)

// Admission limits how many documents are in memory at the same time, weighted by their sizes. The size is known only
// after reading, since a small file may contain a large document. Workspaces are served in turn. If a workspace has no
// document in memory, it may exceed the limit by one long document. A nil Admission sets no limit. It is safe for
// concurrent use.
type Admission struct {
	reading *admission.Gate
	texts   *admission.Gate
}

// NewAdmission returns an Admission that admits up to `long` long documents at the same time, or ShortPerLong times as
// many short ones. A few more documents may be in memory while they are being read. At most `readers` documents are
// read concurrently.
func NewAdmission(readers, long int) *Admission {
	gate := func(limit, spare int) *admission.Gate {
		return admission.New(admission.Options{Limit: limit + spare, Spare: spare, Waiting: -1})
	}
	return &Admission{
		reading: gate(min(max(readers, 1)+maxWaitingDocuments, max(long, 1)), 1),
		texts:   gate(max(long, 1)*ShortPerLong, ShortPerLong),
	}
}

// read reads a document with the given function, and waits until the document is admitted. The caller must call `leave`
// once it no longer needs the document.
//
// A document that is waiting for admission keeps its reading slot, so only a few documents are in memory at a time.
// This cannot deadlock, because an admitted document never waits for a reading slot.
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

// weightOf returns how much a document counts towards the limit. A short document has the weight 1.
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
