package sandbox

import "runtime/debug"

const (
	// heapBallast is the amount that a child allocates before its first garbage collection, in bytes. Most documents
	// need less in total. Go would start at 4 MiB and collect a small heap again and again.
	heapBallast = 32 << 20
	// maxRetainedHeap is the memory that a child keeps from one document to the next, in bytes. Releasing and mapping
	// it again takes longer than reading a short document.
	maxRetainedHeap = 96 << 20
)

// newBallast returns heap ballast. It is never touched, so it takes only address space, but it counts towards the heap
// size whose doubling triggers a garbage collection.
func newBallast() []byte { return make([]byte, heapBallast) }

// releaseMemory returns memory to the system after a document that used more than maxRetainedHeap.
func releaseMemory() {
	if mappedMemory() > maxRetainedHeap {
		debug.FreeOSMemory()
	}
}
