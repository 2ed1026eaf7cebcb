package pdfmatch

import (
	"cmp"
	"math"
	"slices"
)

// Costs of a path, which assigns a passage's tokens to positions on the pages. A path costs nothing if it follows the
// page without jumps and omits no tokens.
const (
	skipToken      = 1.5 // omitting a token
	skipRune       = 0.5 // additionally per letter, up to maxSkipCost
	maxSkipCost    = 6
	skipLabel      = 0.7  // omitting a token in a label, which may be far away at the top of a table
	insideWordCost = 1.0  // a token that starts or ends inside a word on the page
	gapInLine      = 0.8  // a jump forwards on a line
	backInLine     = 2.2  // a jump backwards on a line
	jump           = 1.6  // any other jump
	jumpUp         = 0.4  // additionally for a jump towards the top of the page
	jumpDown       = 0.15 // additionally for each multiple of the font size in the vertical distance
	jumpAcross     = 0.03 // like jumpDown, for the horizontal distance
	maxJumpCost    = 5    // maximum of jumpDown and jumpAcross together
	jumpBack       = 1.5  // additionally for a jump back on a row
	otherRow       = 0.8  // additionally for a jump to another height within one line of the passage
	maxReturnCost  = 0.5  // maximum value of jumpAcross in a jump to the start of a cell further down
	lineEnd        = -0.9 // from the end of a line to the start of another
	nextPage       = 2.5
	otherPage      = 5
)

// Bounds on the work for one token.
const (
	maxPositions = 1000 // maximum number of positions per token
	maxCarried   = 64   // maximum number of paths that omit the token
	carriedCost  = 14   // maximum cost difference from the best of them

	minStep  = jump + lineEnd // minimum cost of a step to non-adjacent text
	maxSteps = 5_000_000      // maximum number of such steps to compare per window
)

// node is a token of a passage and its position among the pages' letters and digits (Text.core).
type node struct {
	token    int32
	from, to int32 // range in the core; `to` is the last index
	before   int32 // previous node on the path; -1 if there is none
}

// path is a choice of positions for the tokens read so far. `node` is its last node, which links back to the nodes
// before it.
type path struct {
	node int32
	cost float64
}

// bestPath chooses a position for each token and returns the nodes in order. It omits tokens that aren't on the pages
// or are too far from the other tokens.
func (t *Text) bestPath(tokens []token) []node {
	var nodes []node
	var live []path
	left := 0.0             // cost of omitting all tokens so far
	ends := map[int32]int{} // indexes in `live`, by the end of the last node
	steps := maxSteps
	for i, tok := range tokens {
		positions := t.positions(tok)
		skip := min(skipToken+skipRune*float64(len(tok.runes)), maxSkipCost)
		if tok.label {
			skip = skipLabel
		}
		if len(positions) == 0 {
			continue // every path omits it
		}
		slices.SortFunc(live, byCost)
		clear(ends)
		for k, p := range slices.Backward(live) {
			ends[nodes[p.node].to] = k
		}
		next := make([]path, 0, len(positions)+maxCarried)
		for _, at := range positions {
			to := at.at + int32(len(tok.runes)) - 1
			best := path{node: -1, cost: left}
			if k, ok := ends[at.at-1]; ok && live[k].cost < best.cost {
				best = live[k] // adjacent text costs nothing
			}
			for _, p := range live {
				if p.cost+minStep >= best.cost || steps == 0 {
					break
				}
				steps--
				n := nodes[p.node]
				if cost := p.cost + t.step(n.to, at.at, tokens[n.token].line == tok.line); cost < best.cost {
					best = path{p.node, cost}
				}
			}
			nodes = append(nodes, node{int32(i), at.at, to, best.node})
			next = append(next, path{int32(len(nodes) - 1), best.cost + at.cost})
		}
		least := slices.MinFunc(next, byCost).cost
		for k, p := range live {
			if p.cost += skip; k == maxCarried || p.cost > least+carriedCost {
				break
			}
			next = append(next, p)
		}
		live = next
		left += skip
	}
	if len(live) == 0 {
		return nil
	}
	var chosen []node
	for at := slices.MinFunc(live, byCost).node; at >= 0; at = nodes[at].before {
		chosen = append(chosen, nodes[at])
	}
	slices.Reverse(chosen)
	return chosen
}

func byCost(a, b path) int { return cmp.Compare(a.cost, b.cost) }

// position is a token's possible start in Text.core, with its cost.
type position struct {
	at   int32
	cost float64
}

// positions returns the positions at which a token occurs. If there are too many, positions inside longer words are
// dropped first.
func (t *Text) positions(tok token) []position {
	var whole, parts []position
	for _, at := range t.byRune[tok.runes[0]] {
		if t.commonPrefix(tok.runes, at) < len(tok.runes) {
			continue
		}
		end := int(at) + len(tok.runes)
		if t.core[at].begins && (end == len(t.core) || t.core[end].begins) {
			whole = append(whole, position{at, 0})
		} else if len(parts) < maxPositions {
			parts = append(parts, position{at, insideWordCost})
		}
		if len(whole) == maxPositions {
			break
		}
	}
	return append(whole, parts[:min(len(parts), maxPositions-len(whole))]...)
}

// step returns the cost of moving from position a to position b in Text.core, i.e. from one token to the next. sameLine
// reports whether both tokens are on the same line of the passage. Such a line is often a table row, with most cells at
// the same height on the page.
func (t *Text) step(a, b int32, sameLine bool) float64 {
	if b == a+1 {
		return 0
	}
	ga, gb := t.glyphOf(a), t.glyphOf(b)
	switch {
	case gb.Page == ga.Page+1:
		return nextPage
	case gb.Page != ga.Page:
		return otherPage
	case gb.Line == ga.Line && b > a:
		return gapInLine + min(0.02*float64(b-a), 1)
	case gb.Line == ga.Line:
		return backInLine
	}
	size := max(ga.Size, gb.Size, 1)
	down := (gb.Box.Y1 + gb.Box.Y0 - ga.Box.Y1 - ga.Box.Y0) / 2 / size
	across := jumpAcross * math.Abs(gb.Box.X0-ga.Box.X1) / size
	cost := jump
	if sameLine && math.Abs(down) > 0.5 {
		cost += otherRow
	}
	switch {
	case down < -0.5:
		cost += jumpUp
	case down > 0.5:
		if gb.Cell {
			across = min(across, maxReturnCost)
		}
	case gb.Box.X0 < ga.Box.X0 && !t.rtl, gb.Box.X0 > ga.Box.X0 && t.rtl:
		cost += jumpBack
	}
	cost += min(maxJumpCost, jumpDown*math.Abs(down)+across)
	if gb.Cell && (int(a)+1 == len(t.core) || t.glyphOf(a+1).Cell || t.glyphOf(a+1).Line != ga.Line) {
		cost += lineEnd
	}
	return cost
}
