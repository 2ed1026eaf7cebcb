package pdfmatch

import "math"

// findLabels finds labels that bestPath omitted because they are far from their values. Such labels are column or row
// names, which are above a value or to its left.
func (w *window) findLabels() {
	value := -1 // the next token that was found
	for i := len(w.tokens) - 1; i >= 0; i-- {
		tok := w.tokens[i]
		switch {
		case w.at[i].from >= 0:
			if !tok.label {
				value = i
			}
		case tok.label && value >= 0:
			w.at[i] = w.nearestLabel(i, w.at[value])
		case !tok.label:
			value = -1
		}
	}
}

// nearestLabel finds token i, which is part of a label, on the pages. If the token occurs several times, nearestLabel
// returns a node for the occurrence nearest to the label's value. If there is none, the node's `from` is -1.
func (w *window) nearestLabel(i int, value node) node {
	best, least := node{token: int32(i), from: -1}, math.Inf(1)
	of := w.glyphOf(value.from)
	for _, p := range w.positions(w.tokens[i]) {
		g := w.glyphOf(p.at)
		end := w.glyphOf(p.at + int32(len(w.tokens[i].runes)) - 1)
		if g.Page != of.Page || p.cost > 0 {
			continue
		}
		size := max(g.Size, of.Size, 1)
		up := (of.Box.Y0 - g.Box.Y0) / size
		across := max(0, max(g.Box.X0-of.Box.X1, of.Box.X0-end.Box.X1)) / size
		var cost float64
		switch {
		case up > 0.5:
			cost = up*jumpDown + across
		case math.Abs(up) <= 0.5 && end.Box.X1 <= of.Box.X1:
			cost = across * jumpDown
		default:
			continue
		}
		if cost < least {
			best, least = node{int32(i), p.at, p.at + int32(len(w.tokens[i].runes)) - 1, -1}, cost
		}
	}
	return best
}
