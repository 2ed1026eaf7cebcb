package pdftext

import (
	"archive/zip"
	"bytes"
	_ "embed" // the tables of Adobe
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/extract/pdftext/internal/adobe"
)

// adobeZip holds the tables that internal/adobegen makes; their licence is in adobe.LICENSE.txt. They are made anew with
// "ADOBE_DATA=FOLDER go run ./internal/adobegen", and not by go generate, which cannot have Adobe's data at hand.
//
//go:embed adobe.zip
var adobeZip []byte

// adobeTable reads one table, nil when there is none of the name.
func adobeTable(name string) []byte {
	r, err := zip.NewReader(bytes.NewReader(adobeZip), int64(len(adobeZip)))
	if err != nil {
		return nil
	}
	f, err := r.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	return data
}

// The tables in use, by name. There are some eighty, so that keeping them is bounded.
var (
	knownCMaps sync.Map // *cmap
	knownTexts sync.Map // *adobe.Text
	knownCIDs  sync.Map // map[rune]uint32
)

// predefinedCMap is the CMap of a name that every reader is expected to know, nil for other names and for CMaps that are a
// Unicode encoding.
func predefinedCMap(name string) *cmap { return loadCMap(name, 0) }

func loadCMap(name string, depth int) *cmap {
	if m, ok := knownCMaps.Load(name); ok {
		return m.(*cmap)
	}
	packed := adobeTable("cmap/" + name)
	if packed == nil || depth > 4 {
		return nil
	}
	u := adobe.UnpackCMap(packed)
	m := &cmap{vertical: u.Vertical, spaces: u.Spaces, cids: u.Ranges}
	for _, s := range u.Spaces {
		m.lengths[s.Bytes] = true
	}
	if u.Base != "" {
		m.base = loadCMap(u.Base, depth+1)
	}
	known, _ := knownCMaps.LoadOrStore(name, m)
	return known.(*cmap)
}

// collectionText gives the characters of the glyph numbers of a collection such as "Adobe-Japan1", nil for unknown ones.
func collectionText(collection string) *adobe.Text {
	if t, ok := knownTexts.Load(collection); ok {
		return t.(*adobe.Text)
	}
	packed := adobeTable("text/" + collection)
	if packed == nil {
		return nil
	}
	t := adobe.UnpackText(packed)
	known, _ := knownTexts.LoadOrStore(collection, &t)
	return known.(*adobe.Text)
}

// collectionCIDs is the way back: the first glyph number of each character. CMaps that are a Unicode encoding need it
// for the widths of their glyphs.
func collectionCIDs(collection string) map[rune]uint32 {
	if m, ok := knownCIDs.Load(collection); ok {
		return m.(map[rune]uint32)
	}
	m := map[rune]uint32{}
	if t := collectionText(collection); t != nil {
		for cid, r := range t.One {
			if _, ok := m[r]; !ok && r != 0 {
				m[r] = uint32(cid)
			}
		}
	}
	known, _ := knownCIDs.LoadOrStore(collection, m)
	return known.(map[rune]uint32)
}

// glyphList reads a list of "name;code code" lines.
func glyphList(file string) map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(string(adobeTable(file))) {
		name, codes, _ := strings.Cut(strings.TrimSpace(line), ";")
		var text strings.Builder
		for _, hex := range strings.Fields(codes) {
			if v, err := strconv.ParseUint(hex, 16, 32); err == nil {
				text.WriteRune(rune(v))
			}
		}
		if text.Len() > 0 {
			list[strings.Clone(name)] = text.String()
		}
	}
	return list
}

var (
	adobeGlyphs = sync.OnceValue(func() map[string]string { return glyphList("glyphlist.txt") })
	dingbats    = sync.OnceValue(func() map[string]string { return glyphList("zapfdingbats.txt") })
)
