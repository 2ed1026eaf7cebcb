// Package wordset makes sets of words out of lists in source code. It imports nothing of ours, and any package may import it.
package wordset

import "strings"

// Of returns the set of the words in a list that white space separates.
func Of(list string) map[string]bool {
	out := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		out[word] = true
	}
	return out
}
