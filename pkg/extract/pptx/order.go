package pptx

import (
	"cmp"
	"encoding/xml"
	"slices"
	"strconv"
	"unicode"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// slideFrame is a shape's position and size on its slide or in its group, in the file's units.
type slideFrame struct {
	x, y, width, height float64
	known               bool
}

// slideBox is the text in a shape or a group of shapes.
type slideBox struct {
	isPlaceholder bool // it is a placeholder, and the layout determines the order of placeholders in the file
	frame         slideFrame
	blocks        []domain.Block
}

// maxFrameUnits is the largest coordinate that is accepted. Slides are at most 51,206,400 units wide.
const maxFrameUnits = 1e12

// readSlideFrame reads the current element, an xfrm.
func readSlideFrame(sc *xmlscan.Scanner) slideFrame {
	var f slideFrame
	offset, size := false, false
	sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "off":
			f.x, f.y, offset = frameUnits(e, "x"), frameUnits(e, "y"), true
		case "ext":
			f.width, f.height, size = max(frameUnits(e, "cx"), 0), max(frameUnits(e, "cy"), 0), true
		}
		return false
	})
	f.known = offset && size
	return f
}

func frameUnits(e xml.StartElement, name string) float64 {
	n, err := strconv.ParseFloat(xmlscan.Attr(e, name), 64)
	if err != nil || !(n > -maxFrameUnits && n < maxFrameUnits) {
		return 0
	}
	return n
}

// inheritedFrame returns the frame that a placeholder without a position inherits from its layout or master.
func (r *reader) inheritedFrame(rels []ooxml.Relation, holder, index string) slideFrame {
	for _, kind := range []string{"slideLayout", "slideMaster"} {
		part := r.a.Related(rels, kind, "")
		if part == "" {
			return slideFrame{}
		}
		frames := r.placeholderFrames(part)
		for _, key := range []string{"index " + index, "type " + holder} {
			if f := frames[key]; f.known && key != "index " {
				return f
			}
		}
		rels = r.a.Relations(part)
	}
	return slideFrame{}
}

// placeholderFrames returns the frames of a layout's or master's placeholders, by index and by type.
func (r *reader) placeholderFrames(part string) map[string]slideFrame {
	if frames, read := r.frames[part]; read {
		return frames
	}
	frames := map[string]slideFrame{}
	r.frames[part] = frames
	// The error means that a limit was exceeded. Ignore it, because reading the part's text later fails the same way.
	_ = r.a.Walk(part, func(sc *xmlscan.Scanner) {
		if _, ok := sc.Root(); !ok {
			return
		}
		sc.Descend(func(e xml.StartElement) bool {
			if e.Name.Local != "sp" {
				return false
			}
			var keys []string
			frame := slideFrame{}
			sc.Descend(func(e xml.StartElement) bool {
				switch e.Name.Local {
				case "ph":
					holder := cmp.Or(xmlscan.Attr(e, "type"), "body")
					keys = []string{"index " + xmlscan.Attr(e, "idx"), "type " + holder}
				case "xfrm":
					frame = readSlideFrame(sc)
					return true
				case "txBody":
					sc.Skip()
					return true
				}
				return false
			})
			for _, key := range keys {
				if !frames[key].known {
					frames[key] = frame
				}
			}
			return true
		})
	})
	return frames
}

// maxOrderedBoxes is the maximum number of boxes that inReadingOrder splits. A slide with more boxes is assumed to be a
// drawing.
const maxOrderedBoxes = 400

// inReadingOrder returns the boxes' blocks in reading order. It recursively splits the boxes at the widest gap (an
// XY-cut), from top to bottom and in the writing direction. A box without a position stays directly after its
// predecessor in the file. If `plain` is set, the blocks stay in the file's order, as in other tools, unless that order
// is clearly wrong.
func inReadingOrder(boxes []slideBox, plain bool) []domain.Block {
	var placed []slideBox
	var blocks []domain.Block // blocks of the boxes before the first one with a position
	for _, b := range boxes {
		switch {
		case b.frame.known:
			placed = append(placed, b)
		case len(placed) > 0:
			last := &placed[len(placed)-1]
			last.blocks = append(last.blocks, b.blocks...)
		default:
			blocks = append(blocks, b.blocks...)
		}
	}
	if len(placed) > maxOrderedBoxes {
		slices.SortStableFunc(placed, func(a, b slideBox) int {
			return cmp.Or(cmp.Compare(a.frame.y, b.frame.y), cmp.Compare(a.frame.x, b.frame.x))
		})
	} else {
		ordered := slices.Clone(placed)
		orderBoxes(ordered, isRightToLeft(placed))
		if !plain || isClearlyInverted(placed, ordered) {
			placed = ordered
		}
	}
	for _, b := range placed {
		blocks = append(blocks, b.blocks...)
	}
	return blocks
}

// isClearlyInverted reports whether more than a third of all pairs of boxes are ordered differently in `file` and
// `ordered`. It returns false if any box is a placeholder.
func isClearlyInverted(file, ordered []slideBox) bool {
	if slices.ContainsFunc(file, func(b slideBox) bool { return b.isPlaceholder }) {
		return false
	}
	at := make(map[*domain.Block]int, len(ordered))
	for i, b := range ordered {
		at[&b.blocks[0]] = i
	}
	inverted, pairs := 0, 0
	for i, b := range file {
		for _, before := range file[:i] {
			if pairs++; at[&before.blocks[0]] > at[&b.blocks[0]] {
				inverted++
			}
		}
	}
	return inverted*3 > pairs
}

// orderBoxes sorts the boxes into reading order, in place.
func orderBoxes(boxes []slideBox, leftward bool) {
	for len(boxes) > 1 {
		down := func(f slideFrame) (float64, float64) { return withoutMargins(f.y, f.height) }
		across := func(f slideFrame) (float64, float64) {
			if leftward {
				return withoutMargins(-f.x-f.width, f.width)
			}
			return withoutMargins(f.x, f.width)
		}
		row, rowGap := widestGap(boxes, down)
		column, columnGap := widestGap(boxes, across)
		at, along := row, down
		if column > 0 && (row == 0 || columnGap > rowGap) {
			at, along = column, across
		}
		sortAlong(boxes, along)
		if at == 0 { // the boxes overlap in both directions
			return
		}
		orderBoxes(boxes[:at], leftward)
		boxes = boxes[at:]
	}
}

// withoutMargins strips a box's margins from an interval. Boxes are larger than their text, so their margins may
// overlap.
func withoutMargins(start, size float64) (from, to float64) {
	const margin = 0.1
	return start + margin*size, start + (1-margin)*size
}

func sortAlong(boxes []slideBox, along func(slideFrame) (float64, float64)) {
	slices.SortStableFunc(boxes, func(a, b slideBox) int {
		from, _ := along(a.frame)
		other, _ := along(b.frame)
		return cmp.Compare(from, other)
	})
}

// widestGap finds the widest gap between the boxes along one direction. `at` is the number of boxes before the gap, or
// 0 if there is no gap.
func widestGap(boxes []slideBox, along func(slideFrame) (float64, float64)) (at int, gap float64) {
	sorted := slices.Clone(boxes)
	sortAlong(sorted, along)
	_, end := along(sorted[0].frame)
	for i, b := range sorted[1:] {
		from, to := along(b.frame)
		if from >= end && (at == 0 || from-end > gap) {
			at, gap = i+1, from-end
		}
		end = max(end, to)
	}
	return at, gap
}

// isRightToLeft reports whether most letters in the boxes are in right-to-left scripts.
func isRightToLeft(boxes []slideBox) bool {
	left, right := 0, 0
	for _, b := range boxes {
		for _, block := range b.blocks {
			for _, r := range block.Text {
				switch {
				case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko):
					right++
				case unicode.IsLetter(r):
					left++
				}
			}
		}
	}
	return right > left
}
