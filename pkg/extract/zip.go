package extract

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// archive is an office container whose sizes have been checked before anything is unpacked.
type archive struct {
	p     *parser
	files map[string]*zip.File // by partName
	twice bool                 // some part is packed more than once
	cut   bool                 // some of it is lost: its directory, or the end of a part
	left  int64                // bytes that may still be unpacked
	max   int64
}

// zipFormat reads what is packed in a zip file as the format whose parts it has.
var zipFormat = Format{Type: TypeZip, Packed: true, Read: readZip}

// readZip opens the zip file, decides by its parts which format it is, and reads it.
func readZip(p *parser) error {
	zr, whole := zip.NewReader(p.src.Data, p.src.Size)
	if whole != nil {
		var err error
		if zr, err = p.salvage(whole); err != nil {
			return err
		}
	}
	a, err := newArchive(p, zr)
	if err != nil {
		return err
	}
	a.cut = whole != nil
	p.container = a
	f := p.formats.packed(p)
	if f == nil {
		if a.cut {
			return damaged(p.formats.packedNames()+" file", errNoPart)
		}
		return p.formats.unsupported(TypeZip)
	}
	p.doc.MIMEType = f.Type
	if err := f.Read(p); err != nil {
		return err
	}
	if a.cut && p.out.letters == 0 { // the text is in the part that is lost
		return damaged(p.formats.packedNames()+" file", whole)
	}
	return nil
}

// openedArchive is the archive that readZip has opened for the document.
func openedArchive(p *parser) *archive { return p.container.(*archive) }

// openArchive opens the whole zip file that the document is; format says what it should be.
func openArchive(p *parser, format string) (*archive, error) {
	zr, err := zip.NewReader(p.src.Data, p.src.Size)
	if err != nil {
		return nil, damaged(format, err)
	}
	return newArchive(p, zr)
}

// newArchive refuses containers that promise to unpack to too much. Promises can be false, so reads are bounded too.
// Of parts with the same name the first counts: what a later one would put in its place is never read.
func newArchive(p *parser, zr *zip.Reader) (*archive, error) {
	if len(zr.File) > maxZipEntries {
		return nil, fail(TooLarge, "the file packs %d parts, more than the %d that are read", len(zr.File), maxZipEntries)
	}
	a := &archive{p: p, files: make(map[string]*zip.File, len(zr.File)), left: p.lim.MaxUnpacked, max: p.lim.MaxUnpacked}
	var total uint64
	for _, f := range zr.File {
		if f.UncompressedSize64 > uint64(a.max) {
			return nil, a.tooLarge()
		}
		if total += f.UncompressedSize64; total > uint64(a.max) {
			return nil, a.tooLarge()
		}
		if f.Flags&1 != 0 {
			return nil, fail(Encrypted, "the file is packed with a password; remove the password and send it again")
		}
		name := partName(f.Name)
		if a.files[name] != nil {
			a.twice = true
			p.out.warn(fmt.Sprintf("the file packs the part %q more than once; the first was read", cutBytes(name, 100)))
			continue
		}
		a.files[name] = f
	}
	if total > minBomb && total/uint64(max(p.src.Size, 1)) > maxRatio {
		return nil, fail(TooLarge, "the file unpacks to %d times its size, more than the %d times that are read", total/uint64(max(p.src.Size, 1)), maxRatio)
	}
	return a, nil
}

// partName is the name by which a part is looked up: producers agree neither on case nor on slashes, and names that
// climb out of the container are names within it.
func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"))
}

func (a *archive) tooLarge() *Error {
	return fail(TooLarge, "the file unpacks to more than %s", sizeText(a.max))
}

// has reports whether any part lies in the folder.
func (a *archive) has(folder string) bool {
	for name := range a.files {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

var errNoPart = errors.New("the part is missing")

// partReader unpacks a part within the bounds of maxPart and of the archive's total.
type partReader struct {
	a    *archive
	name string
	r    io.ReadCloser
	left int64
}

// Read returns a TooLarge *Error when a bound is reached.
func (r *partReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.left -= int64(n)
	r.a.left -= int64(n)
	switch {
	case r.left < 0:
		return n, fail(TooLarge, "part %q of the file unpacks to more than %s", cutBytes(r.name, 100), sizeText(maxPart))
	case r.a.left < 0:
		return n, r.a.tooLarge()
	}
	return n, err
}

func (r *partReader) Close() error { return r.r.Close() }

// open unpacks one part as a stream; errNoPart when there is none. Close it.
func (a *archive) open(name string) (*partReader, error) {
	f := a.files[partName(name)]
	if f == nil {
		return nil, fmt.Errorf("opening part %q: %w", name, errNoPart)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("opening part %q: %w", name, err)
	}
	return &partReader{a: a, name: name, r: r, left: maxPart}, nil
}

// read unpacks one part as a whole. With an error it returns what was read before it.
func (a *archive) read(name string) ([]byte, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return data, fmt.Errorf("unpacking part %q: %w", name, err)
	}
	return data, nil
}

// walk scans one part as it is unpacked. It returns errors that end the document; damage of the part alone is left
// in the scanner for take to look at, and a part that is not there is not walked.
func (a *archive) walk(name string, take func(sc *xmlScanner)) error {
	r, err := a.open(name)
	if err != nil {
		if errors.Is(err, errNoPart) {
			return nil
		}
		sc := newXMLScanner(a.p.ctx, bytes.NewReader(nil))
		sc.over, sc.damage = true, err
		return a.scan(sc, take)
	}
	defer r.Close()
	return a.scan(newXMLScanner(a.p.ctx, r), take)
}

// scan lets take walk the part, and notes when it is damaged.
func (a *archive) scan(sc *xmlScanner, take func(sc *xmlScanner)) error {
	take(sc)
	a.cut = a.cut || sc.damage != nil
	return sc.err
}
