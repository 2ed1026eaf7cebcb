package embedded

import (
	"cmp"
	"time"
)

// sizes says from how many rows on a space has what; zero values mean the constants. Tests have all of it with few rows.
type sizes struct {
	codes int           // slots from which a space has codes
	exact int           // rows up to which every vector is compared
	cells int           // rows from which a space has cells
	reach reach         // of the cells, in place of what is measured
	quiet time.Duration // after which a space that nobody writes to is settled
}

func (z sizes) codesFrom() int { return cmp.Or(z.codes, codesFrom) }
func (z sizes) exactRows() int { return cmp.Or(z.exact, exactRows) }
func (z sizes) cellsFrom() int { return cmp.Or(z.cells, cellsFrom) }
