package quant

// Put puts the i-th of Rows records to its place in a group that lies by columns: one byte of each after the other for so many
// columns, and then four bytes of each after the other. The rest of a record behind its columns is a multiple of four bytes.
func Put(group []byte, columns, i int, record []byte) {
	for c, b := range record[:columns] {
		group[c*Rows+i] = b
	}
	for at := columns; at < len(record); at += 4 {
		copy(group[at*Rows+4*i:], record[at:at+4])
	}
}

// Take reads what Put has put, as much of it as record has room for.
func Take(record, group []byte, columns, i int) {
	for c := range record[:columns] {
		record[c] = group[c*Rows+i]
	}
	for at := columns; at < len(record); at += 4 {
		copy(record[at:at+4], group[at*Rows+4*i:])
	}
}
