package embedded

import "unsafe"

// floatsOf reads a record as a vector, in place: records are aligned to 4 bytes, and hold this machine's byte order.
func floatsOf(record []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(record))), len(record)/4)
}

// bytesOf is the opposite of floatsOf.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*4)
}
