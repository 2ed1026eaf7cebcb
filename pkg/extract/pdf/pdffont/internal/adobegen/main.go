// Command adobegen packs the Adobe tables that PDF readers need into one small file: the predefined CMaps for Chinese,
// Japanese and Korean fonts, the characters for their glyph numbers, and the glyph list.
//
// The sources are three public repositories under the BSD 3-clause licence: adobe-type-tools/cmap-resources,
// adobe-type-tools/mapping-resources-pdf and adobe-type-tools/agl-aglfn. Check them out in one folder and run, in
// package pdffont:
//
//	ADOBE_DATA=FOLDER go run ./internal/adobegen
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/extract/pdf/pdffont/internal/adobe"
)

// cmapNames lists the predefined CMaps for each character collection. It includes those in ISO 32000 and others that
// common PDF readers know. Unicode encodings need no table, so they are omitted.
var cmapNames = map[string][]string{
	"Adobe-GB1-6": {"GB-EUC-H", "GB-EUC-V", "GB-H", "GB-V", "GBpc-EUC-H", "GBpc-EUC-V", "GBK-EUC-H", "GBK-EUC-V", "GBKp-EUC-H",
		"GBKp-EUC-V", "GBK2K-H", "GBK2K-V", "GBT-EUC-H", "GBT-EUC-V"},
	"Adobe-CNS1-7": {"B5pc-H", "B5pc-V", "B5-H", "B5-V", "HKscs-B5-H", "HKscs-B5-V", "ETen-B5-H", "ETen-B5-V", "ETenms-B5-H",
		"ETenms-B5-V", "CNS-EUC-H", "CNS-EUC-V"},
	"Adobe-Japan1-7": {"83pv-RKSJ-H", "90ms-RKSJ-H", "90ms-RKSJ-V", "90msp-RKSJ-H", "90msp-RKSJ-V", "90pv-RKSJ-H", "90pv-RKSJ-V",
		"Add-RKSJ-H", "Add-RKSJ-V", "EUC-H", "EUC-V", "Ext-RKSJ-H", "Ext-RKSJ-V", "H", "V", "RKSJ-H", "RKSJ-V", "78-RKSJ-H",
		"78-RKSJ-V", "78ms-RKSJ-H", "78ms-RKSJ-V", "78-EUC-H", "78-EUC-V", "78-H", "78-V", "Add-H", "Add-V", "Ext-H", "Ext-V", "NWP-H", "NWP-V"},
	"Adobe-Korea1-2": {"KSC-EUC-H", "KSC-EUC-V", "KSCms-UHC-H", "KSCms-UHC-V", "KSCms-UHC-HW-H", "KSCms-UHC-HW-V", "KSCpc-EUC-H",
		"KSCpc-EUC-V", "KSC-H", "KSC-V", "KSC-Johab-H", "KSC-Johab-V"},
}

var collections = []string{"Adobe-CNS1", "Adobe-GB1", "Adobe-Japan1", "Adobe-Korea1", "Adobe-KR"}

func main() {
	data := flag.String("data", os.Getenv("ADOBE_DATA"), "folder with the three checkouts")
	out := flag.String("out", "adobe.zip", "file to write")
	flag.Parse()
	if err := run(*data, *out); err != nil {
		fmt.Fprintln(os.Stderr, "adobegen:", err)
		os.Exit(1)
	}
}

func run(data, out string) error {
	if data == "" {
		return errors.New("the folder with the checkouts is missing: set ADOBE_DATA or -data")
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	add := func(name string, content []byte) error {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(content)
		}
		return err
	}
	for _, dir := range slices.Sorted(maps.Keys(cmapNames)) {
		for _, name := range cmapNames[dir] {
			packed, err := packCMap(filepath.Join(data, "cmap-resources", dir, "CMap", name))
			if err != nil {
				return err
			}
			if err := add("cmap/"+name, packed); err != nil {
				return fmt.Errorf("packing %s: %w", name, err)
			}
		}
	}
	for _, name := range collections {
		packed, err := packText(filepath.Join(data, "mapping-resources-pdf", "pdf2unicode", name+"-UCS2"))
		if err != nil {
			return err
		}
		if err := add("text/"+name, packed); err != nil {
			return fmt.Errorf("packing %s: %w", name, err)
		}
	}
	for _, name := range []string{"glyphlist.txt", "zapfdingbats.txt"} {
		list, err := os.ReadFile(filepath.Join(data, "agl-aglfn", name))
		if err != nil {
			return fmt.Errorf("reading the glyph list: %w", err)
		}
		var kept strings.Builder
		for line := range strings.Lines(string(list)) {
			if !strings.HasPrefix(line, "#") {
				kept.WriteString(line)
			}
		}
		if err := add(name, []byte(kept.String())); err != nil {
			return fmt.Errorf("packing %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("packing: %w", err)
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

func packCMap(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a CMap: %w", err)
	}
	var m adobe.CMap
	fields := words(data)
	for i, f := range fields {
		switch f {
		case "usecmap":
			m.Base = strings.TrimPrefix(fields[i-1], "/")
		case "/WMode":
			m.Vertical = fields[i+1] == "1"
		case "begincodespacerange":
			for j := i + 1; fields[j] != "endcodespacerange"; j += 2 {
				low, n := code(fields[j])
				top, _ := code(fields[j+1])
				m.Spaces = append(m.Spaces, adobe.Range{Bytes: n, Low: low, Top: top})
			}
		case "begincidrange":
			for j := i + 1; fields[j] != "endcidrange"; j += 3 {
				low, n := code(fields[j])
				top, _ := code(fields[j+1])
				m.Ranges = append(m.Ranges, adobe.Range{Bytes: n, Low: low, Top: top, CID: number(fields[j+2])})
			}
		case "begincidchar":
			for j := i + 1; fields[j] != "endcidchar"; j += 2 {
				c, n := code(fields[j])
				m.Ranges = append(m.Ranges, adobe.Range{Bytes: n, Low: c, Top: c, CID: number(fields[j+1])})
			}
		}
	}
	slices.SortStableFunc(m.Ranges, adobe.Compare)
	return m.Pack(), nil
}

func packText(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a map of glyph numbers: %w", err)
	}
	text := map[uint32][]rune{}
	fields := words(data)
	for i, f := range fields {
		switch f {
		case "beginbfchar":
			for j := i + 1; fields[j] != "endbfchar"; j += 2 {
				c, _ := code(fields[j])
				text[c] = utf16Runes(fields[j+1])
			}
		case "beginbfrange":
			for j := i + 1; fields[j] != "endbfrange"; {
				low, _ := code(fields[j])
				top, _ := code(fields[j+1])
				if fields[j+2] == "[" {
					j += 3
					for c := low; fields[j] != "]"; c++ {
						text[c] = utf16Runes(fields[j])
						j++
					}
					j++
					continue
				}
				first := utf16Runes(fields[j+2])
				for c := low; c <= top; c++ {
					r := slices.Clone(first)
					r[len(r)-1] += rune(c - low)
					text[c] = r
				}
				j += 3
			}
		}
	}
	return adobe.PackText(text), nil
}
