package chunk

import (
	"cmp"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
)

// rows is the range of table rows in a chunk, as numbered in the sheet or file, or zero if there are none.
type rows struct{ first, last int }

func (r *rows) add(row int) {
	if row == 0 {
		return
	}
	r.first = cmp.Or(r.first, row)
	r.last = row
}

// appendTo appends the row numbers to a heading path ("rows 2 to 5") for citations.
func (r rows) appendTo(path string) string {
	if r.first == 0 {
		return path
	}
	place := fmt.Sprintf("rows %d to %d", r.first, r.last)
	if r.first == r.last {
		place = fmt.Sprintf("row %d", r.first)
	}
	return appendTo(path, place)
}

// appendTo appends a location, such as "row 3", to a heading path. Either may be "".
func appendTo(path, place string) string {
	if path == "" || place == "" {
		return path + place
	}
	return path + pathSeparator + place
}

// anchor returns the chunk's URL fragment: that of its headings or, if that is empty, that of its time in a recording.
// It returns "" if there is neither.
func (d *draft) anchor(headings string) string {
	if headings == "" && d.time != "" {
		return domain.TimeAnchor + d.time
	}
	return headings
}
