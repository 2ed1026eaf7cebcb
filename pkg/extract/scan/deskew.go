package scan

import (
	"image"
	"math"
)

// Bounds for detecting a page's skew.
const (
	sampleWidth  = 900    // width of the reduced picture in pixels
	maxInk       = 60_000 // number of dark points to examine
	minInk       = 400
	maxAngle     = 6.0 // degrees
	coarseStep   = 0.5
	fineStep     = 0.1
	minAngle     = 0.25 // degrees; a smaller skew does not hinder recognition
	clearBenefit = 1.15 // how much sharper the lines must be at the best angle than without rotation
)

// Picture is a page's picture for OCR.
type Picture struct {
	*image.Gray
	Angle float64 // by which the picture was rotated around its centre, in degrees; see Page.Angle
}

// Straightened returns a page's picture with its lines of text rotated to horizontal. They may be slightly skewed, as
// on paper that was askew on the scanner.
func Straightened(g *image.Gray) Picture {
	angle := skewOf(g)
	if math.Abs(angle) < minAngle {
		return Picture{Gray: g}
	}
	return Picture{Gray: rotated(g, angle), Angle: angle}
}

// point is a dark point in a downscaled picture.
type point struct{ x, y float64 }

// skewOf returns the angle of a page's lines in degrees, or 0 if the angle is unclear. The angle is positive if the
// lines go down to the right. skewOf tries many angles and, for each, counts the dark points in rows with that slope.
// At the correct angle, the counts of adjacent rows differ most, because each row is either on a line of text or
// between two lines.
func skewOf(g *image.Gray) float64 {
	points := inkOf(g)
	if len(points) < minInk {
		return 0
	}
	best, sharpest := 0.0, 0.0
	for a := -maxAngle; a <= maxAngle; a += coarseStep {
		if s := sharpness(points, a); s > sharpest {
			best, sharpest = a, s
		}
	}
	for a, centre := best-coarseStep, best; a <= centre+coarseStep; a += fineStep {
		if s := sharpness(points, a); s > sharpest {
			best, sharpest = a, s
		}
	}
	if math.Abs(best) > maxAngle-coarseStep || sharpest < clearBenefit*sharpness(points, 0) {
		return 0
	}
	return best
}

// inkOf downscales a picture to sampleWidth and returns its dark points, i.e. those much darker than the mean.
func inkOf(g *image.Gray) []point {
	w, h := g.Rect.Dx(), g.Rect.Dy()
	step := max(w/sampleWidth, 1)
	var sum, n uint64
	for y := step / 2; y < h; y += step {
		for x := step / 2; x < w; x += step {
			sum += uint64(g.Pix[y*g.Stride+x])
			n++
		}
	}
	if n == 0 {
		return nil
	}
	const darker = 0.7
	threshold := uint8(float64(sum) / float64(n) * darker)
	var points []point
	for y := step / 2; y < h; y += step {
		for x := step / 2; x < w; x += step {
			if g.Pix[y*g.Stride+x] < threshold {
				points = append(points, point{float64(x / step), float64(y / step)})
			}
		}
	}
	if every := len(points)/maxInk + 1; every > 1 {
		kept := points[:0]
		for i := 0; i < len(points); i += every {
			kept = append(kept, points[i])
		}
		points = kept
	}
	return points
}

// sharpness measures how clearly the points form lines at an angle in degrees. Only use it to compare angles.
func sharpness(points []point, angle float64) float64 {
	slope := math.Tan(angle * math.Pi / 180)
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		y := p.y - slope*p.x
		low, high = min(low, y), max(high, y)
	}
	rows := make([]float64, int(high-low)+2)
	for _, p := range points {
		rows[int(p.y-slope*p.x-low)]++
	}
	sum := 0.0
	for i := 1; i < len(rows); i++ {
		d := rows[i] - rows[i-1]
		sum += d * d
	}
	return sum
}

// rotated rotates a picture counterclockwise by an angle in degrees, on white paper of the same size.
func rotated(g *image.Gray, angle float64) *image.Gray {
	w, h := g.Rect.Dx(), g.Rect.Dy()
	out := image.NewGray(image.Rect(0, 0, w, h))
	sin, cos := math.Sincos(angle * math.Pi / 180)
	cx, cy := float64(w)/2, float64(h)/2
	const one = 1 << 16 // fixed-point unit
	stepX, stepY := int64(cos*one), int64(sin*one)
	for y := range h {
		dy := float64(y) - cy
		fx, fy := int64((cx-cx*cos-dy*sin)*one), int64((cy-cx*sin+dy*cos)*one)
		row := out.Pix[y*out.Stride : y*out.Stride+w]
		for x := range row {
			sx, sy := int(fx>>16), int(fy>>16)
			if sx < 0 || sy < 0 || sx+1 >= w || sy+1 >= h {
				row[x] = 255
			} else {
				ax, ay := uint32(fx&(one-1))>>8, uint32(fy&(one-1))>>8
				at := sy*g.Stride + sx
				top := uint32(g.Pix[at])*(256-ax) + uint32(g.Pix[at+1])*ax
				bottom := uint32(g.Pix[at+g.Stride])*(256-ax) + uint32(g.Pix[at+g.Stride+1])*ax
				row[x] = uint8((top*(256-ay) + bottom*ay) >> 16)
			}
			fx += stepX
			fy += stepY
		}
	}
	return out
}
