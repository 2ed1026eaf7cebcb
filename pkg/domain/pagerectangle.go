package domain

// PageRectangle is an upright rectangle on a page of a PDF, as viewers display the page: cut to its crop box and
// rotated. X and Y locate its upper left corner, measured from the upper left corner of the page. The unit is a point
// (1/72 inch); a page's UserUnit is not applied.
type PageRectangle struct {
	Page   int     `json:"page"` // from 1
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}
