package embedded

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sort"
	"unsafe"

	"github.com/sluice/sluice/pkg/index"
)

// postings appends to dst all postings of a term, segment by segment, dead slots among them.
func (v view) postings(ctx context.Context, term string, dst []posting) ([]posting, error) {
	for _, seg := range v.segments {
		var err error
		if dst, err = v.segmentPostings(ctx, seg, term, dst); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// segmentPostings appends to dst the postings of a term in a segment, in order of slots.
func (v view) segmentPostings(ctx context.Context, seg segment, term string, dst []posting) ([]posting, error) {
	from := len(dst)
	firsts, err := v.directory(ctx, seg)
	if err != nil {
		return nil, err
	}
	add := func(e entry) bool {
		dst, err = decodePostings(dst, e.data, e.count)
		return err == nil
	}
	// The term's entries may begin in the block before the first one that starts with it.
	i := max(sort.SearchStrings(firsts, term)-1, 0)
	for ; i < len(firsts) && firsts[i] <= term; i++ {
		var readErr error
		if id := seg.firstBlock + int64(i); i+1 < len(firsts) && firsts[i] == term && firsts[i+1] == term {
			// Nothing else is in the block. What the list of the term keeps of it is all that anyone will want.
			var block string
			if block, readErr = v.uncachedBlock(ctx, id); readErr == nil {
				readErr = entries(block, add)
			}
		} else {
			var block marked
			if block, readErr = v.block(ctx, id); readErr == nil {
				readErr = block.of(term, add)
			}
		}
		if err = cmp.Or(readErr, err); err != nil {
			return nil, err
		}
	}
	// Slots come from checked blocks; one beyond the range would still be an index out of range later.
	for _, p := range dst[from:] {
		if p.slot >= v.slots {
			return nil, errBlock
		}
	}
	return dst, nil
}

// directory returns the first term of each block of a segment.
func (v view) directory(ctx context.Context, seg segment) ([]string, error) {
	key := cacheKey{space: v.space.number, kind: cachedDirectory, id: seg.id}
	if d, ok := v.space.cache.get(key); ok {
		return d.([]string), nil
	}
	data, err := v.readBlob(ctx, v.space.readDirectory, seg.id)
	if err != nil {
		return nil, fmt.Errorf("reading a directory of postings: %w", err)
	}
	firsts, err := decodeDirectory(seg.id, data)
	if err != nil {
		return nil, err
	}
	if int64(len(firsts)) != seg.blocks {
		return nil, fmt.Errorf("%w: a directory of postings names %d of %d blocks", index.ErrCorrupt, len(firsts), seg.blocks)
	}
	v.space.cache.put(key, firsts, int64(len(data)+16*len(firsts)))
	return firsts, nil
}

// block returns a block of postings, checked.
func (v view) block(ctx context.Context, id int64) (marked, error) {
	key := cacheKey{space: v.space.number, kind: cachedBlock, id: id}
	if b, ok := v.space.blocks.get(key); ok {
		return b.(marked), nil
	}
	read, err := v.uncachedBlock(ctx, id)
	if err != nil {
		return marked{}, err
	}
	block, err := mark(read)
	if err != nil {
		return marked{}, err
	}
	v.space.blocks.put(key, block, block.bytes())
	return block, nil
}

// uncachedBlock reads a block that is needed only once, checked.
func (v view) uncachedBlock(ctx context.Context, id int64) (string, error) {
	data, err := v.readBlob(ctx, v.space.readBlock, id)
	if err != nil {
		return "", fmt.Errorf("reading a block of postings: %w", err)
	}
	data, err = unseal(id, data, "a block of postings")
	return unsafe.String(unsafe.SliceData(data), len(data)), err // data is ours and never written again
}

// readBlob returns what a prepared statement selects by a number.
func (v view) readBlob(ctx context.Context, prepared *sql.Stmt, id int64) (data []byte, err error) {
	tx, err := v.transaction(ctx)
	if err != nil {
		return nil, err
	}
	statement := tx.StmtContext(ctx, prepared)
	defer func() { _ = statement.Close() }()
	err = statement.QueryRowContext(ctx, id).Scan(&data)
	return data, err
}
