package cli

import "fmt"

// Counted writes a number with what is counted, as people say it: 1 document, 2 documents.
func Counted[N int | int64](n N, one string) string {
	return fmt.Sprintf("%d %s", n, OneOrMany(n, one, one+"s"))
}

// OneOrMany chooses the word that goes with a number.
func OneOrMany[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
