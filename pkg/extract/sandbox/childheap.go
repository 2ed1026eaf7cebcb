package sandbox

import "runtime/debug"

const (
	// heapBallast is the number of bytes that a child may allocate before its first garbage collection. Most documents
	// need less in total. By default, Go would start at 4 MiB and collect the small heap again and again.
	heapBallast = 32 << 20
	// maxRetainedHeap is the number of bytes of memory that a child keeps for the next document. Releasing memory and
	// mapping it again takes longer than reading a short document.
	maxRetainedHeap = 96 << 20
)

// newBallast allocates the heap ballast. The ballast is never touched, so it takes only address space. But it counts
// towards the heap size, which must double before Go collects garbage.
func newBallast() []byte { return make([]byte, heapBallast) }

// releaseMemory returns memory to the system if the process has more than maxRetainedHeap after a document.
func releaseMemory() {
	if mappedMemory() > maxRetainedHeap {
		debug.FreeOSMemory()
	}
}
