package sandbox

import "runtime/debug"

const (
	// heapRoom is how much a child allocates, in bytes, before it looks for garbage for the first time. Go would begin at 4 MiB
	// and look time and again through a heap that is small throughout: most documents need less than this in all.
	heapRoom = 32 << 20
	// heapKept is how much memory, in bytes, a child holds on to from one document to the next. Giving it back and asking
	// for it again takes longer than reading a short document does.
	heapKept = 96 << 20
)

// spareHeap is memory that is never touched, and so takes up addresses alone: Go collects garbage when the heap has doubled, and
// counts this in.
func spareHeap() []byte { return make([]byte, heapRoom) }

// tidy gives memory back to the system that a document has taken, if it is much.
func tidy() {
	if mappedMemory() > heapKept {
		debug.FreeOSMemory()
	}
}
