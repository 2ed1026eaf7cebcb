package ingest

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	// ShortDocuments is how many short documents take the room of a long one. What a short one waits for is mostly the disk, which
	// serves many as quickly as one; what a long one waits for is the processor.
	ShortDocuments = 4
	// Documents of up to so many bytes of text take one, two and ShortDocuments parts of the room; larger ones hugeParts.
	shortText  = 32 << 10
	middleText = 64 << 10
	longText   = 16 << 20
	hugeParts  = 4 * ShortDocuments
	// waitingToBeRead is how many documents are brought on while as many as there are readers are read.
	waitingToBeRead = 2
)

// Room bounds the documents that are under way at once by what they weigh, once that is known: until it is read, a small file
// may turn out to be a large document. Nil has room for all. It is safe for concurrent use.
type Room struct {
	reading chan struct{}
	parts   int64
	texts   *semaphore.Weighted
}

// NewRoom has room for so many long documents, or ShortDocuments times as many short ones, and for a few more on their way
// through so many readers.
func NewRoom(readers, long int) *Room {
	parts := int64(max(long, 1)) * ShortDocuments
	return &Room{
		reading: make(chan struct{}, min(max(readers, 1)+waitingToBeRead, max(long, 1))),
		parts:   parts,
		texts:   semaphore.NewWeighted(parts),
	}
}

// read has a document read and waits until there is room for it. leave must be called when it is done with.
//
// A document waits for room in its reader's place, so that few of them wait, whatever their size; those that have room wait
// for no reader, and so leave.
func (r *Room) read(ctx context.Context, read func() (*domain.Document, error)) (doc *domain.Document, leave func(), err error) {
	if r == nil {
		doc, err = read()
		return doc, func() {}, err
	}
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if doc, err = read(); err != nil {
		return nil, nil, err
	}
	weight := min(partsOf(doc), r.parts)
	if err := r.texts.Acquire(ctx, weight); err != nil {
		return nil, nil, err
	}
	return doc, func() { r.texts.Release(weight) }, nil
}

// partsOf is how many parts of the room a document takes.
func partsOf(doc *domain.Document) int64 {
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
		return ShortDocuments
	}
	return hugeParts
}
