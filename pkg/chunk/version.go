package chunk

import "fmt"

// Version numbers how this package cuts. Raise it by hand with every change after which some document yields other
// chunks: content that has not changed is cut again only then.
const Version = 6

// Version names what chunks follow from beside the document: Version and the sizes that the options give.
func (c *Chunker) Version() string {
	return fmt.Sprintf("%d:%d:%d", Version, c.opts.TargetTokens, c.opts.MaxTokens)
}
