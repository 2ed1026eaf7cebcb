package sandbox

import "runtime/debug"

const (
	// heapBallast is how much a child may allocate, in bytes, before its first garbage collection. Most documents need
	// less in total. By default, Go would start at 4 MiB and collect the small heap again and again.
	heapBallast = 32 << 20
	// maxRetainedHeap is how much memory a child keeps for the next document, in bytes. Releasing and remapping memory
	// takes longer than reading a short document.
	maxRetainedHeap = 96 << 20
)

// newBallast allocates the heap ballast. It's never touched, so it takes up only address space, but it counts towards
// the heap size, which must double before Go collects garbage.
func newBallast() []byte { return make([]byte, heapBallast) }

// releaseMemory returns memory to the system if the process holds more than maxRetainedHeap after a document.
func releaseMemory() {
	if mappedMemory() > maxRetainedHeap {
		debug.FreeOSMemory()
	}
}
