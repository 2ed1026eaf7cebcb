package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
)

// strokes returns operators that draw the given lines, each from (x0, y0) to (x1, y1).
func strokes(lines ...[4]float64) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%g %g m %g %g l S\n", l[0], l[1], l[2], l[3])
	}
	return b.String()
}

// lattices returns operators that draw all rules of a grid.
func lattices(xs, ys []float64) string {
	var lines [][4]float64
	for _, x := range xs {
		lines = append(lines, [4]float64{x, ys[0], x, ys[len(ys)-1]})
	}
	for _, y := range ys {
		lines = append(lines, [4]float64{xs[0], y, xs[len(xs)-1], y})
	}
	return strokes(lines...)
}

func TestTablesWithRules(t *testing.T) {
	t.Parallel()
	const f = "F1"
	// Text in three columns that are so close together that only rules separate them.
	narrow := func(y float64, a, b, c string) string {
		return extracttest.At(f, 11, 74, y, a) + extracttest.At(f, 11, 132, y, b) + extracttest.At(f, 11, 202, y, c)
	}
	narrowRows := narrow(700, "Part name", "Where it is", "Weight") + narrow(680, "Main shaft", "engine room", "310 kg") +
		narrow(660, "Seal ring A", "at the shaft", "1 kg")
	narrowTable := []string{"tr: Part name\tWhere it is\tWeight", "tr: Part name: Main shaft; Where it is: engine room; Weight: 310 kg",
		"tr: Part name: Seal ring A; Where it is: at the shaft; Weight: 1 kg"}
	longerTable := append(narrowTable[:3:3], "tr: Part name: Seal B; Where it is: aft; Weight: 2 kg")
	wrapped := extracttest.At(f, 11, 74, 700, "Code") + extracttest.At(f, 11, 134, 700, "Meaning") +
		extracttest.At(f, 11, 74, 680, "E-1") + extracttest.At(f, 11, 134, 680, "The antenna of the western mast") + extracttest.At(f, 11, 134, 667, "does not answer in time") +
		extracttest.At(f, 11, 74, 647, "E-2") + extracttest.At(f, 11, 134, 647, "The antenna of the eastern mast") + extracttest.At(f, 11, 134, 634, "does not answer at all")
	wrappedTable := []string{"tr: Code\tMeaning", "tr: Code: E-1; Meaning: The antenna of the western mast does not answer in time",
		"tr: Code: E-2; Meaning: The antenna of the eastern mast does not answer at all"}
	narrowXs, narrowYs := []float64{72, 130, 200, 250}, []float64{714, 694, 674, 654}
	tests := map[string]struct {
		content string
		want    []string
	}{
		"columns that stand near each other are parted by rules": {narrowRows + lattices(narrowXs, narrowYs), narrowTable},
		"rules may be thin rectangles that are filled": {
			narrowRows + "72 653.5 178 1 re 72 673.5 178 1 re 72 693.5 178 1 re 72 713.5 178 1 re 71.5 654 1 60 re 129.5 654 1 60 re 199.5 654 1 60 re 249.5 654 1 60 re f\n", narrowTable},
		"backgrounds of cells are cells": {
			".8 g 72 694 57 19 re 130 694 69 19 re 200 694 50 19 re f .9 g 72 674 57 19 re 130 674 69 19 re 200 674 50 19 re f 72 654 57 19 re 130 654 69 19 re 200 654 50 19 re f 0 g\n" + narrowRows, narrowTable},
		"rules are where the page shows them": {
			"q .5 0 0 .5 20 30 cm " + lattices([]float64{104, 220, 360, 460}, []float64{1368, 1328, 1288, 1248}) + "Q " + narrowRows, narrowTable},
		"the lines of a cell are one text": {wrapped + lattices([]float64{72, 132, 310}, []float64{714, 694, 661, 628}), wrappedTable},
		"a frame may be missing":           {wrapped + strokes([4]float64{132, 628, 132, 714}, [4]float64{72, 694, 310, 694}, [4]float64{72, 661, 310, 661}), wrappedTable},
		"rows without rules between them stay apart": {
			narrowRows + narrow(640, "Seal B", "aft", "2 kg") + strokes([4]float64{72, 694, 250, 694}, [4]float64{130, 634, 130, 714}, [4]float64{200, 634, 200, 714}), longerTable},
		"merged cells name and cover several": {
			extracttest.At(f, 11, 74, 690, "Region") + extracttest.At(f, 11, 160, 700, "2023") + extracttest.At(f, 11, 260, 700, "2024") +
				extracttest.At(f, 11, 134, 680, "Q1") + extracttest.At(f, 11, 184, 680, "Q2") + extracttest.At(f, 11, 234, 680, "Q1") + extracttest.At(f, 11, 284, 680, "Q2") +
				extracttest.At(f, 11, 74, 660, "North") + extracttest.At(f, 11, 134, 660, "1") + extracttest.At(f, 11, 184, 660, "2") + extracttest.At(f, 11, 234, 660, "3") + extracttest.At(f, 11, 284, 660, "4") +
				extracttest.At(f, 11, 74, 630, "South") + extracttest.At(f, 11, 134, 640, "5") + extracttest.At(f, 11, 184, 640, "6") + extracttest.At(f, 11, 234, 640, "7") + extracttest.At(f, 11, 284, 640, "8") +
				extracttest.At(f, 11, 134, 620, "9") + extracttest.At(f, 11, 184, 620, "10") + extracttest.At(f, 11, 234, 620, "11") + extracttest.At(f, 11, 284, 620, "12") +
				strokes([4]float64{72, 714, 332, 714}, [4]float64{132, 694, 332, 694}, [4]float64{72, 674, 332, 674}, [4]float64{72, 654, 332, 654}, [4]float64{132, 634, 332, 634}, [4]float64{72, 614, 332, 614},
					[4]float64{72, 614, 72, 714}, [4]float64{132, 614, 132, 714}, [4]float64{182, 614, 182, 694}, [4]float64{232, 614, 232, 714}, [4]float64{282, 614, 282, 694}, [4]float64{332, 614, 332, 714}),
			[]string{"tr: Region\t2023\t\t2024", "tr: Q1\tQ2\tQ1\tQ2", "tr: Region: North; 2023 Q1: 1; 2023 Q2: 2; 2024 Q1: 3; 2024 Q2: 4",
				"tr: Region: South; 2023 Q1: 5; 2023 Q2: 6; 2024 Q1: 7; 2024 Q2: 8", "tr: Region: South; 2023 Q1: 9; 2023 Q2: 10; 2024 Q1: 11; 2024 Q2: 12"}},
		"a title in the middle of a row without rules is kept": {
			extracttest.At(f, 11, 140, 720, "Spare parts") + narrowRows + lattices(narrowXs, narrowYs) + strokes([4]float64{72, 734, 250, 734}, [4]float64{72, 714, 72, 734}, [4]float64{250, 714, 250, 734}),
			append([]string{"tr: Spare parts"}, narrowTable...)},
		"rules above and below the rows are enough": {
			narrowRows + strokes([4]float64{72, 714, 250, 714}, [4]float64{72, 694, 250, 694}, [4]float64{72, 650, 250, 650}), narrowTable},
		"names above the first rule belong to the rows below": {
			narrowRows + narrow(640, "Seal B", "aft", "2 kg") + strokes([4]float64{72, 694, 250, 694}, [4]float64{72, 674, 250, 674}, [4]float64{72, 654, 250, 654}, [4]float64{72, 634, 250, 634}),
			longerTable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, blockLines(t, extracttest.PDFPages(tt.content))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesThatMakeNoTable(t *testing.T) {
	t.Parallel()
	prose := extracttest.PDFLines("F1", 11, 72, 700, "The keeper of the gate looks after the pump, and writes down", "what he finds. When the water rises he opens the drain, and", "when it falls he shuts it.")
	const proseText = "p: The keeper of the gate looks after the pump, and writes down what he finds. When the water rises he opens the drain, and when it falls he shuts it."
	frame := lattices([]float64{60, 400}, []float64{720, 660})
	second := extracttest.PDFLines("F1", 11, 72, 640, "A second text is set below the first, in a frame", "that is just as wide.")
	const secondText = "p: A second text is set below the first, in a frame that is just as wide."
	tests := map[string]struct {
		content string
		want    []string
	}{
		"a frame around a paragraph": {prose + frame, []string{proseText}},
		"frames of the same width":   {prose + second + frame + lattices([]float64{60, 400}, []float64{655, 615}), []string{proseText, secondText}},
		"lines between paragraphs":   {prose + second + strokes([4]float64{60, 720, 400, 720}, [4]float64{60, 658, 400, 658}, [4]float64{60, 610, 400, 610}), []string{proseText, secondText}},
		"lines below words":          {prose + strokes([4]float64{72, 698, 120, 698}, [4]float64{72, 684, 120, 684}, [4]float64{72, 670, 120, 670}), []string{proseText}},
		"the lines of a chart":       {prose + lattices([]float64{72, 172, 272, 372}, []float64{600, 550, 500, 450}) + extracttest.At("F1", 8, 100, 520, "peak") + extracttest.At("F1", 8, 300, 470, "end"), []string{proseText, "p: peak", "p: end"}},
		"a path that only clips":     {strings.ReplaceAll(lattices([]float64{60, 200, 400}, []float64{720, 690, 650}), "S\n", "W n\n") + "Q " + prose, []string{proseText}},
		"a grid that the clip hides": {"q 0 0 50 50 re W n " + lattices([]float64{60, 200, 400}, []float64{720, 690, 650}) + " Q " + prose, []string{proseText}},
		"boxes that lines join":      {prose + lattices([]float64{72, 172}, []float64{600, 570}) + lattices([]float64{240, 340}, []float64{540, 510}) + strokes([4]float64{172, 585, 290, 585}, [4]float64{290, 540, 290, 585}) + extracttest.At("F1", 11, 80, 580, "Pump") + extracttest.At("F1", 11, 250, 520, "Drain"), []string{proseText, "p: Pump", "p: Drain"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, blockLines(t, extracttest.PDFPages("q "+tt.content))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}
