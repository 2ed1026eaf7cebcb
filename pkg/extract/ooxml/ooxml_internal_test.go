package ooxml

import "testing"

func TestDefaultTitlesAreIgnored(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]bool{
		"PowerPoint Presentation": true, "Présentation PowerPoint": true, "Untitled 2": true, "Slide 1": true, "": true,
		"Documentation": false, "Why we left PowerPoint behind for good": false, "Document management": false,
	} {
		if got := isStockTitle(title); got != want {
			t.Errorf("isStockTitle(%q) = %v, want %v", title, got, want)
		}
	}
}
