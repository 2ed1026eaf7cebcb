package chunk

import "fmt"

// Version is the version of the splitting algorithm. Increment it with each change that gives some document other
// chunks: only then is unchanged content split again.
const Version = 6

// Version returns a text that identifies all parameters of the splitting: the constant Version and the sizes of the
// options.
func (c *Chunker) Version() string {
	return fmt.Sprintf("%d:%d:%d", Version, c.opts.TargetTokens, c.opts.MaxTokens)
}
