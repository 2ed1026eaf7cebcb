// Package lists has helpers for slices. It imports no other package in this module.
package lists

// Map applies f to each item and returns the results.
func Map[From, To any](items []From, f func(From) To) []To {
	out := make([]To, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

// Set returns the items as a set.
func Set[T comparable](items []T) map[T]bool {
	out := make(map[T]bool, len(items))
	for _, item := range items {
		out[item] = true
	}
	return out
}
