package sandbox

import "runtime/debug"

const (
	// heapRoom is the amount that a child allocates before its first garbage collection, in bytes. Most documents need
	// less in total. Go would start at 4 MiB and collect a small heap again and again.
	heapRoom = 32 << 20
	// heapKept is the memory that a child keeps from one document to the next, in bytes. Releasing and mapping it again
	// takes longer than reading a short document.
	heapKept = 96 << 20
)

// spareHeap returns heap ballast. It is never touched, so it takes only address space, but it counts towards the heap
// size whose doubling triggers a garbage collection.
func spareHeap() []byte { return make([]byte, heapRoom) }

// tidy returns memory to the system after a document that used more than heapKept.
func tidy() {
	if mappedMemory() > heapKept {
		debug.FreeOSMemory()
	}
}
