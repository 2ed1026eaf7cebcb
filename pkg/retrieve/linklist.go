package retrieve

import (
	"cmp"
	"slices"
)

// The fraction of its score that a chunk from a list of links keeps. Such a list names every subject in a few words, so
// its chunks match a query better than the text that answers it. Half is low enough to rank that text first, but high
// enough to find the list if nothing else matches.
const linkListShare = 0.5

// isLinkList reports whether the candidate's page is a list of links.
func (c *candidate) isLinkList() bool {
	return c.source != nil && c.source.Document != nil && c.source.Document.LinkList
}

// lowerLinkListScores lowers the final scores of candidates from lists of links.
func lowerLinkListScores(candidates []candidate) {
	for i := range candidates {
		if c := &candidates[i]; c.isLinkList() && c.final > 0 {
			c.taken = (1 - linkListShare) * c.final
			c.final -= c.taken
		}
	}
}

// rerankLinkLists lowers the scores of reranked candidates from lists of links, and sorts again. A reranker sees only
// passages, so it can't recognise such a list.
func rerankLinkLists(reranked []*candidate) {
	if !slices.ContainsFunc(reranked, (*candidate).isLinkList) {
		return
	}
	for _, c := range reranked {
		if c.isLinkList() {
			c.displayScore *= linkListShare
		}
	}
	slices.SortStableFunc(reranked, func(a, b *candidate) int { return cmp.Compare(b.displayScore, a.displayScore) })
	for i, c := range reranked {
		c.second = i + 1
	}
}
