// Package outlook reads messages that Outlook saved as files (.msg). It converts them to Internet mail, which package
// mail reads.
package outlook

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/richardlehane/mscfb"

	"github.com/sluice/sluice/pkg/extract/format"
)

const mimeType = "application/vnd.ms-outlook"

// Format describes Outlook messages.
var Format = format.Format{
	Type: mimeType, Aliases: []string{"application/msoutlook", "application/x-msg"}, Extensions: []string{".msg", ".oft"},
	Name: "an Outlook message", Label: "Outlook email (msg)", Read: read,
	Sniff: func(head []byte, named string) bool {
		return bytes.HasPrefix(head, magic) && (named == mimeType || bytes.Contains(head, propertiesName))
	},
}

// magic begins every compound file, the container of Outlook messages and of old Office documents.
var magic = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

// propertiesName is the UTF-16 name of a stream that is in every message but in no other compound file.
var propertiesName = wide("__properties_version1.0")

// wide encodes ASCII text as UTF-16.
func wide(s string) []byte {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return b
}

const (
	// maxEntries is the maximum number of streams and storages in a file.
	maxEntries = 50_000
	// maxNesting is the nesting depth at which attached messages are skipped, because package mail would not read them
	// either.
	maxNesting = 5
)

// read reads a message with its attachments.
func read(p *format.Parser) error {
	root, err := open(p)
	if err != nil {
		return err
	}
	c := &converter{p: p, left: p.Lim.MaxUnpacked}
	if root.streams[propertiesStream] == nil {
		return format.Errorf(format.Unsupported, "the file is not an Outlook message; save old Office files (.doc, .xls, .ppt) as docx, xlsx or pptx")
	}
	message, err := c.message(root, topHeader, 0)
	if err != nil {
		return err
	}
	p.Doc.Route = "msg"
	p.Src.Data, p.Src.Size, p.Src.Declared = bytes.NewReader(message), int64(len(message)), format.TypeMail
	return p.ReadAs(format.TypeMail)
}

// storage is a folder in a container: a message, a recipient or an attachment.
type storage struct {
	name     string
	streams  map[string]*mscfb.File
	children []*storage
}

// open reads the container's directory. It converts all names to lower case.
func open(p *format.Parser) (*storage, error) {
	if err := checkHeader(p); err != nil {
		return nil, err
	}
	doc, err := mscfb.New(p.Src.Data)
	if err != nil {
		return nil, format.NotA("Outlook message", err)
	}
	if len(doc.File) > maxEntries {
		return nil, format.Errorf(format.TooLarge, "the message has more than %d parts", maxEntries)
	}
	root := &storage{streams: map[string]*mscfb.File{}}
	all := map[string]*storage{"": root}
	find := func(path []string) *storage {
		at, key := root, ""
		for _, name := range path[:min(len(path), 2*maxNesting)] {
			name = strings.ToLower(name)
			key += "/" + name
			next := all[key]
			if next == nil {
				next = &storage{name: name, streams: map[string]*mscfb.File{}}
				all[key] = next
				at.children = append(at.children, next)
			}
			at = next
		}
		return at
	}
	for i, f := range doc.File {
		if i > 0 && !f.FileInfo().IsDir() && len(f.Path) <= 2*maxNesting {
			find(f.Path).streams[strings.ToLower(f.Name)] = f
		}
	}
	for _, s := range all {
		slices.SortFunc(s.children, func(a, b *storage) int { return strings.Compare(a.name, b.name) })
	}
	return root, nil
}

// checkHeader rejects a container that declares more sectors than the file has, because the library would allocate
// memory for them.
func checkHeader(p *format.Parser) error {
	var h [76]byte
	if _, err := p.Src.Data.ReadAt(h[:], 0); err != nil {
		return format.NotA("Outlook message", err)
	}
	shift := binary.LittleEndian.Uint16(h[30:])
	if shift != 9 && shift != 12 {
		return format.NotA("Outlook message", fmt.Errorf("the sectors have a size of 2 to the %d", shift))
	}
	sectors := uint64(p.Src.Size >> shift)
	for _, at := range []int{40, 44, 64, 72} { // numbers of sectors for the directory and the tables
		if n := uint64(binary.LittleEndian.Uint32(h[at:])); n > sectors {
			return format.NotA("Outlook message", fmt.Errorf("a table has %d sectors, the file has %d", n, sectors))
		}
	}
	if start := uint64(binary.LittleEndian.Uint32(h[48:])); start > sectors {
		return format.NotA("Outlook message", fmt.Errorf("the directory begins in sector %d, the file has %d", start, sectors))
	}
	return nil
}
