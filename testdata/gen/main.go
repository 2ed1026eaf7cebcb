// Command gen writes the documents in testdata/documents: small files about a made-up company, in every format that
// Sluice reads. Each file contains facts found in no other file. It also writes the PDF and Office documents in
// testdata/answers; the other documents there are plain text. Its output is the same on every run.
//
//	go run ./testdata/gen
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

func main() {
	for dir, documents := range folders {
		if err := run(filepath.Join("testdata", filepath.FromSlash(dir)), documents); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// run writes documents into dir.
func run(dir string, documents []document) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	for _, d := range documents {
		data, err := d.make()
		if err != nil {
			return fmt.Errorf("making %s: %w", d.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, d.name), data, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", d.name, err)
		}
	}
	return nil
}

// document is a file and the function that generates its content.
type document struct {
	name string
	make func() ([]byte, error)
}

// folders lists the documents by their folder in testdata.
var folders = map[string][]document{
	"documents":        samples,
	"answers/tuning":   {{"vehicle-claim.pdf", claimPDF}, {"dienstanweisung-lager.docx", instructionDocx}},
	"answers/held-out": {{"electricity-bill.pdf", billPDF}, {"angebot-kueche.docx", offerDocx}, {"estoque.xlsx", stockXlsx}},
}

var samples = []document{
	{"aurora-x2-manual.pdf", manualPDF},
	{"employee-handbook.docx", handbookDocx},
	{"roadmap.pptx", roadmapPptx},
	{"price-list.xlsx", pricesXlsx},
	{"stations.csv", encoded(stationsCSV, encoding.Nop)},
	{"incidents.json", encoded(incidentsJSON, encoding.Nop)},
	{"events.jsonl", encoded(eventsJSONL, encoding.Nop)},
	{"installation.md", encoded(installationMD, encoding.Nop)},
	{"support.html", encoded(supportHTML, encoding.Nop)},
	{"reisekosten.txt", encoded(travelDE, charmap.Windows1252)},
	{"hoshu-keiyaku.txt", encoded(serviceJA, japanese.ShiftJIS)},
	{"histoire.txt", encoded(historyFR, encoding.Nop)},
}

func encoded(text string, enc encoding.Encoding) func() ([]byte, error) {
	return func() ([]byte, error) { return enc.NewEncoder().Bytes([]byte(text)) }
}
