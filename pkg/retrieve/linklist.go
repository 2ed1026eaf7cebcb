package retrieve

import (
	"cmp"
	"slices"
)

// linkListShare is the share of its score that a chunk of a link list keeps. An index names every subject in few words,
// so its chunks match a query better than the text that answers it. Half is low enough to rank that text first, and
// high enough to find the list if nothing else matches.
const linkListShare = 0.5

// listsLinks reports whether the candidate's page is a list of links.
func (c *candidate) listsLinks() bool {
	return c.source != nil && c.source.Document != nil && c.source.Document.LinkList
}

// takeFromLinkLists lowers the final scores of candidates from lists of links.
func takeFromLinkLists(candidates []candidate) {
	for i := range candidates {
		if c := &candidates[i]; c.listsLinks() && c.final > 0 {
			c.taken = (1 - linkListShare) * c.final
			c.final -= c.taken
		}
	}
}

// lowerLinkLists lowers the scores of reranked candidates from lists of links and sorts the candidates again. A
// reranker sees only passages, and cannot recognise an index.
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
