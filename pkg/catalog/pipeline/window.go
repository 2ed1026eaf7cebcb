package pipeline

import "github.com/sluice/sluice/pkg/admission"

// Window counts the jobs in the stream by workspace. The zero value has no room; a nil Window has room for every job.
type Window struct {
	free  int
	share float64
	held  map[string]int
	scans *Window // for scan jobs; nil: no room for them
}

// NewWindow returns a window with room for `size` jobs. It already contains the jobs in inFlight, which counts them by
// workspace. `share` says how much of the free room each workspace must leave to others; see admission.Options.Share.
func NewWindow(size int, share float64, inFlight map[string]int) *Window {
	w := &Window{free: size, share: share, held: inFlight}
	for _, n := range inFlight {
		w.free -= n
	}
	return w
}

// WithScans returns the window with additional room for `size` scan jobs. It already contains the scan jobs in
// inFlight, which counts them by workspace.
func (w *Window) WithScans(size int, inFlight map[string]int) *Window {
	w.scans = NewWindow(size, w.share, inFlight)
	return w
}

// Free returns the number of further jobs, other than scan jobs, that the window has room for.
func (w *Window) Free() int { return w.free }

// FreeScans returns the number of scan jobs that the window still has room for.
func (w *Window) FreeScans() int {
	if w.scans == nil {
		return 0
	}
	return max(w.scans.free, 0)
}

// take adds a job of the workspace to the window and returns true. It returns false if the workspace has already used
// up its share of the window.
func (w *Window) take(workspace string) bool {
	if w == nil {
		return true
	}
	if !admission.Allows(w.held[workspace], w.free, w.share) {
		return false
	}
	w.held[workspace]++
	w.free--
	return true
}

// capacity returns how many further jobs of the workspace would fit into the window if no other workspace added any.
func (w *Window) capacity(workspace string) int {
	const unlimited = 1 << 30
	if w == nil {
		return unlimited
	}
	held, free, n := w.held[workspace], w.free, 0
	for admission.Allows(held, free, w.share) {
		held, free, n = held+1, free-1, n+1
	}
	return n
}
