package chunk

import "fmt"

// rows is the range of table rows in a chunk, as numbered in the sheet or file; zero for none.
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

// appendTo returns the heading path with the rows appended, so that a citation leads to its location in a sheet.
func (r rows) appendTo(path string) string {
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
