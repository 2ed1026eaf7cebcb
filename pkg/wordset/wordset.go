// Package wordset builds sets of words from lists in source code. It imports no other package in this module, so any
// package may import it.
package wordset

import "strings"

// Of returns the set of words in a list separated by white space.
func Of(list string) map[string]bool {
	out := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		out[word] = true
	}
	return out
}
