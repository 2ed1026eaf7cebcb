//go:build !amd64 && !arm64

package transformer

// kernels returns the kernels that this processor supports.
func kernels() []*kernel { return []*kernel{portable} }
