package app

import "fmt"

// counted writes a number with what is counted, as people say it: 1 document, 2 documents.
func counted[N int | int64](n N, one string) string {
	return fmt.Sprintf("%d %s", n, oneOrMany(n, one, one+"s"))
}

// oneOrMany chooses the word that goes with a number.
func oneOrMany[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
