package cli

import "fmt"

// Counted returns n and the noun `one`, with an s added unless n is 1: 1 document, 2 documents.
func Counted[N int | int64](n N, one string) string {
	return fmt.Sprintf("%d %s", n, OneOrMany(n, one, one+"s"))
}

// OneOrMany returns `one` if n is 1, and `many` otherwise.
func OneOrMany[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
