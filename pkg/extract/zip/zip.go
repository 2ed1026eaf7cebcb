// Package zip opens documents that are zip files, checks their sizes before unpacking, and recovers the parts of
// truncated files. Packed formats read their parts through it.
package zip

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// Archive is an open zip file whose declared sizes have been checked.
type Archive struct {
	P             *format.Parser
	Files         map[string]*zip.File // by PartName
	HasDuplicates bool                 // several parts have the same name
	all           []*zip.File
	cut           bool  // the file is truncated: its directory or the end of a part is missing
	Left          int64 // bytes that may still be unpacked
	max           int64
}

// Format describes zip files. Its reader detects the packed format by the parts and reads the file in that format.
var Format = format.Format{Type: format.TypeZip, Packed: true, Read: read}

func read(p *format.Parser) error {
	zr, whole := zip.NewReader(p.Src.Data, p.Src.Size)
	if whole != nil {
		var err error
		if zr, err = recoverParts(p, whole); err != nil {
			return err
		}
	}
	a := index(p, zr)
	a.cut = whole != nil
	p.Container = a
	f := p.Formats.Packed(p)
	if f == nil && !a.cut && !a.looksPacked() {
		return &format.Error{Kind: format.Archive, Message: p.Formats.Unsupported(format.TypeZip).Message}
	}
	if err := a.check(); err != nil {
		return err
	}
	if f == nil {
		if a.cut {
			return format.NotA(p.Formats.PackedNames()+" file", ErrNoPart)
		}
		return p.Formats.Unsupported(format.TypeZip)
	}
	p.Doc.MIMEType = f.Type
	if err := f.Read(p); err != nil {
		return err
	}
	if a.cut && p.Out.Letters == 0 { // the text was in the missing part
		return format.NotA(p.Formats.PackedNames()+" file", whole)
	}
	return nil
}

// Opened returns a packed document's archive, which is open by the time the format's Read is called.
func Opened(p *format.Parser) *Archive { return p.Container.(*Archive) }

// Open opens the document as a zip file, which must be complete. In errors, `what` names the expected format.
func Open(p *format.Parser, what string) (*Archive, error) {
	zr, err := zip.NewReader(p.Src.Data, p.Src.Size)
	if err != nil {
		return nil, format.NotA(what, err)
	}
	a := index(p, zr)
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

// index returns the archive with its parts by name. If several parts have the same name, only the first is read.
func index(p *format.Parser, zr *zip.Reader) *Archive {
	a := &Archive{P: p, Files: make(map[string]*zip.File, len(zr.File)), all: zr.File, Left: p.Lim.MaxUnpacked, max: p.Lim.MaxUnpacked}
	for _, f := range zr.File {
		if name := PartName(f.Name); a.Files[name] == nil {
			a.Files[name] = f
		}
	}
	return a
}

// looksPacked reports whether the archive is meant to be a document in a packed format, possibly unknown, damaged or
// encrypted. Otherwise it is an archive of files.
func (a *Archive) looksPacked() bool {
	named := a.P.Formats.Named(a.P.Src.Name)
	return named != nil && named.Packed || a.Files["[content_types].xml"] != nil || a.Files["mimetype"] != nil
}

// check rejects containers whose declared unpacked sizes exceed the limits. Those sizes can be wrong, so reads are
// bounded, too.
func (a *Archive) check() error {
	if len(a.all) > format.MaxZipEntries {
		return format.Errorf(format.TooLarge, "the file contains %d parts; at most %d can be read", len(a.all), format.MaxZipEntries)
	}
	var total uint64
	for _, f := range a.all {
		if f.UncompressedSize64 > uint64(a.max) {
			return a.tooLarge()
		}
		if total += f.UncompressedSize64; total > uint64(a.max) {
			return a.tooLarge()
		}
		if f.Flags&1 != 0 {
			return format.Errorf(format.Encrypted, "the file is password-protected; remove the password and upload the file again")
		}
		if name := PartName(f.Name); a.Files[name] != f {
			a.HasDuplicates = true
			a.P.Out.Warn(fmt.Sprintf("the file contains part %q more than once; only the first was read", format.Cut(name, 100)))
		}
	}
	if size := uint64(max(a.P.Src.Size, 1)); total > format.MinBomb && total/size > format.MaxRatio {
		return format.Errorf(format.TooLarge, "the file unpacks to %d times its size; the limit is %d times", total/size, format.MaxRatio)
	}
	return nil
}

// PartName normalises a part name for lookups, because producers differ in case and slashes. ".." can't escape from the
// container.
func PartName(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"))
}

func (a *Archive) tooLarge() *format.Error {
	return format.Errorf(format.TooLarge, "the file unpacks to more than %s", format.SizeText(a.max))
}

// Has reports whether any part is in the given folder.
func (a *Archive) Has(folder string) bool {
	for name := range a.Files {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

// ErrNoPart means that the archive has no part with the requested name.
var ErrNoPart = errors.New("the part is missing")

// partReader unpacks a part, within its own limit and the archive's.
type partReader struct {
	a    *Archive
	name string
	r    io.ReadCloser
	left int64
}

// Read returns an *Error of kind TooLarge if a limit is exceeded.
func (r *partReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.left -= int64(n)
	r.a.Left -= int64(n)
	switch {
	case r.left < 0:
		return n, format.Errorf(format.TooLarge, "part %q of the file unpacks to more than %s", format.Cut(r.name, 100), format.SizeText(format.MaxPart))
	case r.a.Left < 0:
		return n, r.a.tooLarge()
	}
	return n, err
}

func (r *partReader) Close() error { return r.r.Close() }

// Open returns a reader that unpacks one part, or ErrNoPart. The caller must close the reader.
func (a *Archive) Open(name string) (*partReader, error) {
	f := a.Files[PartName(name)]
	if f == nil {
		return nil, fmt.Errorf("opening part %q: %w", name, ErrNoPart)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("opening part %q: %w", name, err)
	}
	return &partReader{a: a, name: name, r: r, left: format.MaxPart}, nil
}

// Read unpacks a whole part. On failure, it also returns the bytes read so far.
func (a *Archive) Read(name string) ([]byte, error) {
	r, err := a.Open(name)
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

// Walk scans a part while unpacking it. It returns an error only if no more of the document can be read. If only this
// part is damaged, `take` finds the error in the scanner's Damage field. If the part is missing, Walk returns nil and
// does not call `take`.
func (a *Archive) Walk(name string, take func(sc *xmlscan.Scanner)) error {
	r, err := a.Open(name)
	if err != nil {
		if errors.Is(err, ErrNoPart) {
			return nil
		}
		sc := xmlscan.New(a.P.Ctx, bytes.NewReader(nil))
		sc.Over, sc.Damage = true, err
		return a.Scan(sc, take)
	}
	defer r.Close()
	return a.Scan(xmlscan.New(a.P.Ctx, r), take)
}

// Scan passes a part's scanner to `take` and records whether the part is damaged. It returns an error only if no more
// of the document can be read.
func (a *Archive) Scan(sc *xmlscan.Scanner, take func(sc *xmlscan.Scanner)) error {
	take(sc)
	a.cut = a.cut || sc.Damage != nil
	return sc.Err
}

// Picture returns the picture in a part, for format.Parser.Picture. If the part is missing, the result has no key,
// which makes Parser.Picture skip it.
func (a *Archive) Picture(name, alt string) format.Picture {
	f := a.Files[PartName(name)]
	if f == nil {
		return format.Picture{}
	}
	return format.Picture{
		Key:  fmt.Sprintf("%08x-%d", f.CRC32, f.UncompressedSize64),
		Size: int64(min(f.UncompressedSize64, format.MaxPart)), Alt: alt, Open: f.Open,
	}
}
