package chunk

import "fmt"

// rows are the rows of a table that a chunk holds, as their sheet or file numbers them; zero for none.
type rows struct{ first, last int }

func (r *rows) add(row int) {
	if row == 0 {
		return
	}
	if r.first == 0 {
		r.first = row
	}
	r.last = row
}

// under is the heading path with the rows behind it, so that a citation of a sheet can be opened at its place.
func (r rows) under(path string) string {
	if r.first == 0 {
		return path
	}
	place := fmt.Sprintf("rows %d to %d", r.first, r.last)
	if r.first == r.last {
		place = fmt.Sprintf("row %d", r.first)
	}
	if path == "" {
		return place
	}
	return path + pathSeparator + place
}
