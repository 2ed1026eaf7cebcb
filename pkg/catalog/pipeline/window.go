package pipeline

import "github.com/sluice/sluice/pkg/admission"

// Window limits the jobs in the stream, shared fairly between workspaces. The zero value is full; a nil Window is
// unlimited.
type Window struct {
	free  int
	share float64
	held  map[string]int
	scans *Window // for scan jobs; if nil, none fit
}

// NewWindow returns a window for `size` jobs. inFlight maps workspaces to the number of their jobs that are already in
// flight, which take up part of the window. share is the fraction of the free capacity that each workspace must leave
// to others; see admission.Options.Share.
func NewWindow(size int, share float64, inFlight map[string]int) *Window {
	w := &Window{free: size, share: share, held: inFlight}
	for _, n := range inFlight {
		w.free -= n
	}
	return w
}

// WithScans adds a window for `size` scan jobs. inFlight maps workspaces to the number of their scan jobs that are
// already in flight.
func (w *Window) WithScans(size int, inFlight map[string]int) *Window {
	w.scans = NewWindow(size, w.share, inFlight)
	return w
}

// Free returns how many more jobs fit into the window, not counting scan jobs.
func (w *Window) Free() int { return w.free }

// FreeScans returns how many more scan jobs fit into the window.
func (w *Window) FreeScans() int {
	if w.scans == nil {
		return 0
	}
	return max(w.scans.free, 0)
}

// take adds one of the workspace's jobs to the window, or returns false if the workspace has used up its share.
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

// capacity returns how many more of the workspace's jobs would fit if other workspaces added none.
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
