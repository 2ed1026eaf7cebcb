package pdf

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

const (
	sameRule     = 3     // maximum gap in points between segments of one rule, or between rules that meet in a corner
	shortestRule = 6     // minimum length of a rule between cells, in points
	maxGridRules = 2_000 // maximum number of rules per direction on a page; a page with more is a drawing
	maxGridCells = 20_000
	maxGridText  = 1_000_000 // maximum number of cells in a grid's lines times its number of columns
	maxGridWork  = 2_000_000 // maximum number of grids times lines on a page; a page with more is a drawing
	closing      = 0.6       // minimum fraction of a cell's side that a rule must cover to separate two cells
)

// grid holds the borders of a table's cells, taken from its rules. `turn` is the text direction. x runs along the lines
// of text, y across them.
type grid struct {
	turn int
	xs   []float64 // column borders, ascending
	ys   []float64 // row borders, descending
	// parts[r][k] is true if a rule separates cells k and k+1 in row r. below[r][k] is true if a rule separates cell k
	// in row r from the next row. Both are nil if all rules are horizontal; the columns must then be found from the
	// text.
	parts, below [][]bool
}

func (g *grid) rows() int    { return len(g.ys) - 1 }
func (g *grid) columns() int { return len(g.xs) - 1 }

func (g *grid) left() float64   { return g.xs[0] }
func (g *grid) right() float64  { return g.xs[len(g.xs)-1] }
func (g *grid) top() float64    { return g.ys[0] }
func (g *grid) bottom() float64 { return g.ys[len(g.ys)-1] }

// rule is a horizontal line. `at` is its y coordinate; `from` and `to` are the x coordinates of its ends. For vertical
// rules, the axes are swapped.
type rule struct{ at, from, to float64 }

// gridsOf finds possible table grids in a page's drawings. Only the text inside shows whether a grid is a table, so
// that is checked later.
func gridsOf(d pdftext.Drawn, turn int) []grid {
	across, down := rulesOf(d, turn)
	const fewest = 3 // minimum number of rules in a table
	if len(across)+len(down) < fewest || len(across) > maxGridRules || len(down) > maxGridRules {
		return nil
	}
	var grids []grid
	var lone []rule // horizontal rules without vertical rules between them
	for _, c := range connected(across, down) {
		if g, ok := lattice(c.across, c.down); ok {
			g.turn = turn
			grids = append(grids, g)
		} else {
			lone = append(lone, c.across...)
		}
	}
	for _, g := range stacked(lone) {
		g.turn = turn
		grids = append(grids, g)
	}
	return grids
}

// rulesOf returns a page's rules, each joined from its segments, in coordinates relative to the text direction `turn`.
// The sides of filled rectangles count as rules, because backgrounds can separate rows and cells.
func rulesOf(d pdftext.Drawn, turn int) (across, down []rule) {
	add := func(b pdftext.Box) {
		x0, x1, y0, y1 := alongLine(b, turn)
		if x1-x0 >= y1-y0 {
			across = append(across, rule{(y0 + y1) / 2, x0, x1})
		} else {
			down = append(down, rule{(x0 + x1) / 2, y0, y1})
		}
	}
	for _, b := range d.Rules {
		add(b)
	}
	for _, b := range d.Fills {
		add(pdftext.Box{X0: b.X0, Y0: b.Y0, X1: b.X1, Y1: b.Y0})
		add(pdftext.Box{X0: b.X0, Y0: b.Y1, X1: b.X1, Y1: b.Y1})
		add(pdftext.Box{X0: b.X0, Y0: b.Y0, X1: b.X0, Y1: b.Y1})
		add(pdftext.Box{X0: b.X1, Y0: b.Y0, X1: b.X1, Y1: b.Y1})
	}
	return joinRules(across), joinRules(down)
}

// joinRules joins rule segments that touch and lie on one line.
func joinRules(rules []rule) []rule {
	slices.SortFunc(rules, func(a, b rule) int { return cmp.Compare(a.at, b.at) })
	var joined []rule
	for i := 0; i < len(rules); {
		j := i + 1
		for j < len(rules) && rules[j].at-rules[i].at <= sameRule {
			j++
		}
		line := rules[i:j]
		slices.SortFunc(line, func(a, b rule) int { return cmp.Compare(a.from, b.from) })
		open := line[0]
		for _, r := range line[1:] {
			if r.from <= open.to+sameRule {
				open.to = max(open.to, r.to)
				continue
			}
			joined = append(joined, open)
			open = r
		}
		joined = append(joined, open)
		i = j
	}
	return slices.DeleteFunc(joined, func(r rule) bool { return r.to-r.from < shortestRule })
}

// ruleSet is a set of rules that touch each other.
type ruleSet struct{ across, down []rule }

// connected groups rules that meet, either directly or through other rules.
func connected(across, down []rule) []ruleSet {
	of := make([]int, len(across)+len(down))
	for i := range of {
		of[i] = i
	}
	root := func(i int) int {
		for of[i] != i {
			of[i] = of[of[i]]
			i = of[i]
		}
		return i
	}
	for i, h := range across {
		for j, v := range down {
			if v.at >= h.from-sameRule && v.at <= h.to+sameRule && h.at >= v.from-sameRule && h.at <= v.to+sameRule {
				of[root(len(across)+j)] = root(i)
			}
		}
	}
	sets := map[int]int{}
	var found []ruleSet
	at := func(i int) *ruleSet {
		r := root(i)
		n, ok := sets[r]
		if !ok {
			n = len(found)
			sets[r] = n
			found = append(found, ruleSet{})
		}
		return &found[n]
	}
	for i, h := range across {
		s := at(i)
		s.across = append(s.across, h)
	}
	for j, v := range down {
		s := at(len(across) + j)
		s.down = append(s.down, v)
	}
	return found
}

// lattice returns a grid of intersecting rules if they form at least two rows and two columns.
func lattice(across, down []rule) (grid, bool) {
	if len(down) == 0 || len(across) == 0 {
		return grid{}, false
	}
	var xs, ys []float64
	for _, h := range across {
		ys = append(ys, h.at)
	}
	for _, v := range down {
		xs = append(xs, v.at)
	}
	// If the table has no frame, the ends of its rules are its edges.
	for _, h := range across {
		xs = append(xs, h.from, h.to)
	}
	for _, v := range down {
		ys = append(ys, v.from, v.to)
	}
	g := grid{xs: borders(xs), ys: borders(ys)}
	slices.Reverse(g.ys)
	if g.rows() < 2 || g.columns() < 2 || g.rows()*g.columns() > maxGridCells {
		return grid{}, false
	}
	g.parts, g.below = make([][]bool, g.rows()), make([][]bool, g.rows())
	for r := range g.rows() {
		g.parts[r], g.below[r] = make([]bool, g.columns()), make([]bool, g.columns())
		g.parts[r][g.columns()-1] = true
	}
	for _, v := range down {
		k := nearest(g.xs, v.at)
		if k == 0 || k == len(g.xs)-1 {
			continue
		}
		for r := range g.rows() {
			if covers(v, g.ys[r+1], g.ys[r]) {
				g.parts[r][k-1] = true
			}
		}
	}
	for _, h := range across {
		r := nearest(g.ys, h.at)
		if r == 0 || r == len(g.ys)-1 {
			continue
		}
		for k := range g.columns() {
			if covers(h, g.xs[k], g.xs[k+1]) {
				g.below[r-1][k] = true
			}
		}
	}
	for k := range g.columns() {
		g.below[g.rows()-1][k] = true
	}
	return g, true
}

// borders sorts the positions and merges nearly equal ones.
func borders(at []float64) []float64 {
	slices.Sort(at)
	var out []float64
	for i := 0; i < len(at); {
		j := i
		for j < len(at) && at[j]-at[i] <= sameRule {
			j++
		}
		out = append(out, (at[i]+at[j-1])/2)
		i = j
	}
	return out
}

// nearest returns the index of the element in `places` nearest to `at`.
func nearest(places []float64, at float64) int {
	best, d := 0, math.Inf(1)
	for i, p := range places {
		if math.Abs(p-at) < d {
			best, d = i, math.Abs(p-at)
		}
	}
	return best
}

// covers reports whether a rule runs along most of the cell side between `from` and `to`.
func covers(r rule, from, to float64) bool {
	return min(r.to, to)-max(r.from, from) >= closing*(to-from)
}

// stacked returns grids of horizontal rules with the same length, one below the other. They are common in book tables,
// and as the edges of backgrounds behind every other row.
func stacked(rules []rule) []grid {
	const fewest = 3
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(b.at, a.at) })
	var grids []grid
	taken := make([]bool, len(rules))
	for i, first := range rules {
		if taken[i] {
			continue
		}
		ys := []float64{first.at}
		for j := i + 1; j < len(rules); j++ {
			r := rules[j]
			if !taken[j] && math.Abs(r.from-first.from) <= sameRule && math.Abs(r.to-first.to) <= sameRule {
				taken[j] = true
				ys = append(ys, r.at)
			}
		}
		if ys = borders(ys); len(ys) >= fewest {
			slices.Reverse(ys)
			grids = append(grids, grid{xs: []float64{first.from, first.to}, ys: ys})
		}
	}
	return grids
}
