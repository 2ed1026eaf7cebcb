package chunk

import "fmt"

// Version is the version of the splitting algorithm. Increment it whenever the chunks of any document change: unchanged
// content is split again only if this number differs.
const Version = 6

// Version identifies everything that determines the chunks: the Version constant and the sizes in the options.
func (c *Chunker) Version() string {
	return fmt.Sprintf("%d:%d:%d", Version, c.opts.TargetTokens, c.opts.MaxTokens)
}
