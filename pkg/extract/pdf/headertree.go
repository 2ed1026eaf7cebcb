package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/table"
)

// Bounds on the positions of column names, as multiples of the font size, and costs of names in unusual positions.
const (
	maxMiddleDistance = 1.2 // maximum distance of a name from the middle or the edge of its columns
	unnamedColumnCost = 0.6 // leaving a column unnamed that has a name in the row directly below
	ungroupedCost     = 0.3 // grouping a column without a name in the row directly below
	overlapCost       = 1.0 // a name that is also above another column
	wrappedNameCost   = 0.1 // a name with several lines
	outsideColumnCost = 0.3 // a gap between a name and its column, per multiple of the font size
	maxColumnDistance = 4   // maximum gap between a name and its column
	maxHeaderDistance = 1.7 // maximum distance between two header rows, as a multiple of the row distance
)

// headerTree derives column names from several header rows, in which a name may span several columns or rows.
type headerTree struct {
	columns []column
	size    float64
	pitch   float64 // distance between the table's rows, in points
	rtl     bool
	nodes   []headerNode
	grouped bool // a name spans several columns
}

// headerNode is a range of columns that share a name, and the position of that name. A column without a name is a node
// too.
type headerNode struct {
	from, to int // range of columns
	names    []string
	x0, x1   float64
	middle   float64
	y, low   float64 // baselines of the highest and lowest names
}

// add adds a header's rows, from top to bottom. It reports whether every column got a name; the column of row names may
// have none.
func (h *headerTree) add(rows []alignedCells) bool {
	h.nodes = make([]headerNode, len(h.columns))
	for k, c := range h.columns {
		h.nodes[k] = headerNode{from: k, to: k, names: []string{""}, x0: c.from, x1: c.to, middle: (c.from + c.to) / 2, y: math.Inf(-1), low: math.Inf(-1)}
	}
	for i, r := range slices.Backward(rows) {
		if i+1 < len(rows) && r.y-rows[i+1].y > maxHeaderDistance*h.pitch || len(r.cells) > maxAligned || slices.ContainsFunc(r.cells, func(c pdftext.Cell) bool { return !isColumnName(c.Text) }) || !h.addRow(r) {
			return false
		}
	}
	for k, name := range h.names() {
		if first := k == 0 && !h.rtl || k == len(h.columns)-1 && h.rtl; name == "" && !first {
			return false
		}
	}
	return true
}

// isColumnName reports whether a string can name a column. A formula cannot, even though its parts are aligned like
// cells.
func isColumnName(s string) bool {
	return utf8.RuneCountInString(s) <= table.MaxLabel && !endsSentence(s) && !table.LooksNumeric(s) && !strings.ContainsAny(s, "=∑∫∏√")
}

func (h *headerTree) names() []string {
	names := make([]string, 0, len(h.columns))
	for _, n := range h.nodes {
		names = append(names, n.names...)
	}
	return names
}

// addRow adds a row of names above those already added. It returns false if the row cannot be part of the header.
func (h *headerTree) addRow(r alignedCells) bool {
	runs := h.place(r)
	if runs == nil || len(runs) == 1 && runs[0][0] == 0 && runs[0][1] == len(h.nodes)-1 {
		return false // a title over the whole table
	}
	for i, run := range slices.Backward(runs) {
		c := r.cells[i]
		first, last := h.nodes[run[0]], h.nodes[run[1]]
		joined := headerNode{from: first.from, to: last.to, x0: min(first.x0, c.X0), x1: max(last.x1, c.X1), middle: c.Middle(), y: r.y, low: r.y}
		if run[0] < run[1] {
			h.grouped = true
			joined.x0, joined.x1, joined.middle = first.x0, last.x1, (first.middle+last.middle)/2
		}
		if !math.IsInf(first.low, -1) {
			joined.low = min(first.low, last.low)
		}
		for _, n := range h.nodes[run[0] : run[1]+1] {
			for _, name := range n.names {
				joined.names = append(joined.names, strings.TrimSpace(c.Text+" "+name))
			}
		}
		h.nodes = slices.Replace(h.nodes, run[0], run[1]+1, joined)
	}
	return true
}

// place assigns a row's cells to the nodes they name, at the lowest total cost. It returns each cell's first and last
// node, or nil if there is no valid assignment.
func (h *headerTree) place(r alignedCells) [][2]int {
	// If the names directly below a cell reach the header's bottom edge, the cell may group them at no cost. `below` is
	// the baseline of such names, and `lowest` is the lowest baseline of any name.
	lowest, below := math.Inf(1), math.Inf(-1)
	for _, n := range h.nodes {
		if !math.IsInf(n.low, -1) {
			lowest = min(lowest, n.low)
		}
	}
	for _, n := range h.nodes {
		if r.y-n.y >= samePitch*h.pitch && n.low == lowest {
			below = max(below, n.y)
		}
	}
	isBelow := func(n headerNode) bool { return n.y == below && n.low == lowest }
	cells, nodes := len(r.cells), len(h.nodes)
	type choice struct {
		cost float64
		end  int // the cell's last node; -1 if the node is skipped
	}
	best := make([][]choice, cells+1) // by cell and node: lowest cost from that cell and node to the end
	for i := range best {
		best[i] = make([]choice, nodes+1)
	}
	for i := cells; i >= 0; i-- {
		for j := nodes; j >= 0; j-- {
			b := &best[i][j]
			if j == nodes {
				if i < cells {
					b.cost = math.Inf(1)
				}
				continue
			}
			*b = choice{best[i][j+1].cost, -1}
			if isBelow(h.nodes[j]) {
				b.cost += unnamedColumnCost
			}
			for e := j; i < cells && e < nodes; e++ {
				if cost := h.cost(r, r.cells[i], j, e, isBelow) + best[i+1][e+1].cost; cost < b.cost {
					*b = choice{cost, e}
				}
			}
		}
	}
	if math.IsInf(best[0][0].cost, 1) {
		return nil
	}
	runs := make([][2]int, 0, cells)
	for i, j := 0, 0; i < cells; {
		if e := best[i][j].end; e >= 0 {
			runs = append(runs, [2]int{j, e})
			i, j = i+1, e+1
		} else {
			j++
		}
	}
	return h.evenRuns(runs)
}

// cost returns the cost of using a cell as the common name for nodes `from` to `to`, or infinity if that is impossible.
func (h *headerTree) cost(r alignedCells, c pdftext.Cell, from, to int, isBelow func(headerNode) bool) float64 {
	first, last := h.nodes[from], h.nodes[to]
	if from == to {
		cost := 0.0
		if gap := max(c.X0-first.x1, first.x0-c.X1) / h.size; gap > maxColumnDistance {
			return math.Inf(1)
		} else if gap > 0 {
			cost = outsideColumnCost * gap
		}
		if !math.IsInf(first.y, -1) {
			cost += wrappedNameCost
		}
		for k, n := range h.nodes {
			if k != from && min(n.x1, c.X1)-max(n.x0, c.X0) > 0.5*min(n.x1-n.x0, c.X1-c.X0) {
				cost += overlapCost
			}
		}
		return cost
	}
	cost := 0.0
	for _, n := range h.nodes[from : to+1] {
		if math.IsInf(n.y, -1) || r.y-n.y < samePitch*h.pitch {
			return math.Inf(1)
		}
		if !isBelow(n) {
			cost += ungroupedCost
		}
	}
	middle, edge := c.Middle(), math.Abs(c.X0-first.x0)
	if h.rtl {
		edge = math.Abs(c.X1 - last.x1)
	}
	off := min(math.Abs(middle-(first.x0+last.x1)/2), math.Abs(middle-(first.middle+last.middle)/2), edge) / h.size
	if off > maxMiddleDistance {
		return math.Inf(1)
	}
	return cost + off
}

// evenRuns corrects the last group of columns (the first in right-to-left text). If names are left-aligned, nothing
// shows where the last group ends. If all other groups have the same length and the last group is longer, it's
// shortened to that length.
func (h *headerTree) evenRuns(runs [][2]int) [][2]int {
	groups := slices.Clone(runs)
	groups = slices.DeleteFunc(groups, func(r [2]int) bool { return r[0] == r[1] })
	if len(groups) < 2 {
		return runs
	}
	at, longest := len(groups)-1, &runs[len(runs)-1]
	if h.rtl {
		at, longest = 0, &runs[0]
	}
	others := slices.Delete(slices.Clone(groups), at, at+1)
	n := others[0][1] - others[0][0]
	if *longest != groups[at] || groups[at][1]-groups[at][0] <= n || slices.ContainsFunc(others, func(r [2]int) bool { return r[1]-r[0] != n }) {
		return runs
	}
	if h.rtl {
		longest[0] = longest[1] - n
	} else {
		longest[1] = longest[0] + n
	}
	return runs
}
