package chunk

import "fmt"

// Version is the version of the splitting algorithm. Increment it whenever any document's chunks change, because
// unchanged content is split again only then.
const Version = 6

// Version identifies everything that affects a document's chunks other than the document itself: the Version constant
// and the configured sizes.
func (c *Chunker) Version() string {
	return fmt.Sprintf("%d:%d:%d", Version, c.opts.TargetTokens, c.opts.MaxTokens)
}
