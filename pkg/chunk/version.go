package chunk

import "fmt"

// Version is the version of the splitting algorithm. Increment it whenever any document's chunks change, because
// unchanged content is split again only if this number differs.
const Version = 6

// Version identifies everything other than the document that affects its chunks: the Version constant and the sizes in
// the options.
func (c *Chunker) Version() string {
	return fmt.Sprintf("%d:%d:%d", Version, c.opts.TargetTokens, c.opts.MaxTokens)
}
