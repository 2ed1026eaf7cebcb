//go:build !amd64 && !arm64

package transformer

// kernels returns the kernels that this processor supports, the fastest first.
func kernels() []*kernel { return []*kernel{portable} }
