package main

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/extract/extracttest/paper"
)

// scannedNote is the sheet of paper that the demo scans. Its facts are in no other document.
var scannedNote = paper.Page{
	Heading: "Inspection of the boiler house",
	Paragraphs: []string{
		"Both feed pumps held a pressure of six bar for an hour on Monday.",
		"The valve on the north side leaks. A new one has the order number 4711 and will be fitted in March.",
	},
}

// Only the scanned note answers scanQuestion. The correct answer contains scanAnswer.
const (
	scanQuestion = "What is the order number of the new valve in the boiler house?"
	scanAnswer   = "4711"
)

// uploadScan uploads a picture of a printed page, slightly skewed like a scan. If Tesseract is not installed,
// uploadScan prints a message and returns false.
func (l *library) uploadScan(ctx context.Context) (uploaded bool, err error) {
	if _, err := exec.LookPath("tesseract"); err != nil {
		fmt.Fprintln(l.out, "  Tesseract is not installed, so the demo skips the scan. To include it: apt-get install tesseract-ocr")
		return false, nil
	}
	drawn, _, err := scannedNote.Draw()
	if err != nil {
		return false, err
	}
	picture, err := paper.Scan{Skew: 1.5, Noise: 0.001, Fade: 20}.Apply(drawn)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "sluice-demo-scan-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "boiler-house.png")
	f, err := os.Create(path)
	if err != nil {
		return false, err
	}
	if err := errors.Join(png.Encode(f, picture), f.Close()); err != nil {
		return false, fmt.Errorf("writing the scan: %w", err)
	}
	source, err := l.UploadFile(ctx, l.storeID, path)
	if err != nil {
		return false, fmt.Errorf("uploading the scan: %w", err)
	}
	fmt.Fprintf(l.out, "  POST /datasources  %-45s %s\n", "boiler-house.png, a scan", source.Status)
	return true, nil
}

// findScan checks that a query finds the scanned note's text.
func (l *library) findScan(ctx context.Context) error {
	limit := 1
	fragments, err := l.QueryDatastore(ctx, l.storeID, client.DatastoreQuery{Query: scanQuestion, TopK: &limit})
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "\nPOST /datastores/{id}/query  %q\n", scanQuestion)
	for _, f := range fragments {
		fmt.Fprintf(l.out, "  1. %.3f  %s\n     %s\n", f.Score, f.Source, shorten(f.Text, 160))
	}
	if len(fragments) == 0 || !strings.Contains(fragments[0].Text, scanAnswer) {
		return errors.New("the query did not find the text of the scan")
	}
	return nil
}
