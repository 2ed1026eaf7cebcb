package embedded

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// builtPostings are the blocks of a segment, once they have been waited for.
type builtPostings struct {
	sync.WaitGroup
	blocks [][]byte // without checksums
	firsts []string // the first term of each
	err    error
}

// buildPostings has a goroutine build the blocks of batches' postings. slots are ascending, and as many as there are rows.
func buildPostings(batches []*batch, slots []uint32) *builtPostings {
	placed := make([]placing, len(batches))
	for i, b := range batches {
		placed[i] = placing{b.terms, slots[:len(b.rows)]}
		slots = slots[len(b.rows):]
	}
	out := new(builtPostings)
	build := calmly(func() error {
		builder := blockBuilder{put: func(block []byte) error {
			out.blocks = append(out.blocks, block)
			return nil
		}}
		eachTermPlaced(placed, func(term string, ps []posting) { _ = builder.add(term, ps) }) // only put could fail
		_ = builder.close()
		out.firsts = builder.firsts
		return nil
	})
	out.Go(func() { out.err = build() })
	return out
}

// insertSegment stores postings as a segment of its own.
func insertSegment(ctx context.Context, tx *sql.Tx, next *snapshot, slots []uint32, postings *builtPostings) error {
	if postings.err != nil {
		return postings.err
	}
	seg := segment{id: next.nextSegment, rows: int64(len(slots)), firstBlock: next.nextBlock, blocks: int64(len(postings.blocks))}
	if err := insertBlocks(ctx, tx, seg.firstBlock, postings.blocks); err != nil {
		return err
	}
	if err := storeSegment(ctx, tx, seg, roaring.BitmapOf(slots...), postings.firsts); err != nil {
		return err
	}
	next.nextSegment++
	next.nextBlock += seg.blocks
	next.segments = append(next.segments, seg)
	return nil
}

// insertBlocks stores blocks, which get numbers from first on.
func insertBlocks(ctx context.Context, tx *sql.Tx, first int64, blocks [][]byte) error {
	for i, block := range blocks {
		id := first + int64(i)
		if _, err := tx.ExecContext(ctx, `INSERT INTO blocks (id, data) VALUES (?, ?)`, id, seal(id, block)); err != nil {
			return fmt.Errorf("storing a block of postings: %w", err)
		}
	}
	return nil
}

// storeSegment stores a segment, whose blocks begin with the terms firsts.
func storeSegment(ctx context.Context, tx *sql.Tx, seg segment, slots *roaring.Bitmap, firsts []string) error {
	slots.RunOptimize()
	set, err := slots.ToBytes()
	if err != nil {
		return fmt.Errorf("encoding the slots of a segment: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO segments (id, slots, directory) VALUES (?, ?, ?)`, seg.id, seal(seg.id, set), encodeDirectory(seg.id, firsts))
	if err != nil {
		return fmt.Errorf("storing a segment: %w", err)
	}
	return nil
}
