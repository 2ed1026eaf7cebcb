package retrieve

import (
	"cmp"
	"slices"
)

// linkListShare is the share of its score that a chunk of a list of links keeps. An index names every subject in few words, so
// its chunks match a query better than the text that answers it; half is enough for that text to come first, and leaves the
// list to be found where nothing else is.
const linkListShare = 0.5

// listsLinks reports whether the candidate is of a page that is a list of links.
func (c *candidate) listsLinks() bool {
	return c.source != nil && c.source.Document != nil && c.source.Document.LinkList
}

// takeFromLinkLists lowers the final scores of candidates that are of lists of links.
func takeFromLinkLists(candidates []candidate) {
	for i := range candidates {
		if c := &candidates[i]; c.listsLinks() && c.final > 0 {
			c.taken = (1 - linkListShare) * c.final
			c.final -= c.taken
		}
	}
}

// lowerLinkLists puts candidates that were reranked in the order of their scores once more, those of lists of links with the
// share that they keep. A reranker reads passages, and cannot tell that one is of an index.
func lowerLinkLists(reranked []*candidate) {
	if !slices.ContainsFunc(reranked, (*candidate).listsLinks) {
		return
	}
	for _, c := range reranked {
		if c.listsLinks() {
			c.shown *= linkListShare
		}
	}
	slices.SortStableFunc(reranked, func(a, b *candidate) int { return cmp.Compare(b.shown, a.shown) })
	for i, c := range reranked {
		c.second = i + 1
	}
}
