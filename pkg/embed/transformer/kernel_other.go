//go:build !amd64 && !arm64

package transformer

// kernels are those that this processor can run, the fastest first.
func kernels() []*kernel { return []*kernel{portable} }
