// Package wordset builds sets of words from lists in source code. It imports no other package from the module, so any
// package may import it.
package wordset

import "strings"

// Of returns the set of the words in a list. White space separates the words.
func Of(list string) map[string]bool {
	out := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		out[word] = true
	}
	return out
}
