package scan

import "image"

// Bounds for deciding whether a picture may contain text.
const (
	cellSize     = 16  // width and height in pixels of the cells that a picture is divided into
	minContrast  = 48  // difference between the brightest and the darkest pixel of a cell with text
	minStrokes   = 24  // changes between bright and dark in the rows of a cell with text
	minTextCells = 4   // cells with text that are to the right of another one
	smallestSide = 400 // pixels; pictures are not reduced further
)

// HasText reports whether a picture may contain text: neighbouring cells with many sharp changes between bright and
// dark. It also looks for such cells in downscaled copies of the picture, because large letters have them only at a
// smaller size. Most photographs of faces, skies and surfaces have no such cells. Pictures of grass and fabric have
// them, so OCR has to decide whether these contain text.
func HasText(g *image.Gray) bool {
	for !hasTextCells(g) {
		if max(g.Rect.Dx(), g.Rect.Dy()) <= smallestSide {
			return false
		}
		g = halved(g)
	}
	return true
}

func hasTextCells(g *image.Gray) bool {
	cells := 0
	for y := 0; y+cellSize <= g.Rect.Dy(); y += cellSize {
		before := false
		for x := 0; x+cellSize <= g.Rect.Dx(); x += cellSize {
			has := hasStrokes(g, x, y)
			if has && before {
				if cells++; cells >= minTextCells {
					return true
				}
			}
			before = has
		}
	}
	return false
}

// halved returns a picture with half the width and height.
func halved(g *image.Gray) *image.Gray {
	out := image.NewGray(image.Rect(0, 0, max(g.Rect.Dx()/2, 1), max(g.Rect.Dy()/2, 1)))
	for y := range out.Rect.Dy() {
		top := g.Pix[min(2*y, g.Rect.Dy()-1)*g.Stride:]
		bottom := g.Pix[min(2*y+1, g.Rect.Dy()-1)*g.Stride:]
		for x := range out.Rect.Dx() {
			left, right := min(2*x, g.Rect.Dx()-1), min(2*x+1, g.Rect.Dx()-1)
			out.Pix[y*out.Stride+x] = uint8((int(top[left]) + int(top[right]) + int(bottom[left]) + int(bottom[right])) / 4)
		}
	}
	return out
}

// hasStrokes reports whether a cell may contain text, i.e. has many changes between dark and bright. To exclude noise,
// a change counts only if it crosses the middle half of the cell's contrast.
func hasStrokes(g *image.Gray, left, top int) bool {
	low, high := uint8(255), uint8(0)
	for y := top; y < top+cellSize; y++ {
		for _, v := range g.Pix[y*g.Stride+left : y*g.Stride+left+cellSize] {
			low, high = min(low, v), max(high, v)
		}
	}
	contrast := high - low
	if contrast < minContrast {
		return false
	}
	dark, bright := low+contrast/4, high-contrast/4
	strokes := 0
	for y := top; y < top+cellSize; y++ {
		const unknown, isDark, isBright = 0, 1, 2
		state := unknown
		for _, v := range g.Pix[y*g.Stride+left : y*g.Stride+left+cellSize] {
			next := state
			if v <= dark {
				next = isDark
			} else if v >= bright {
				next = isBright
			}
			if state != unknown && next != state {
				strokes++
			}
			state = next
		}
	}
	return strokes >= minStrokes
}
