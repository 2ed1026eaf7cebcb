// Package archive reads ZIP archives of files. It decides which files are read and under which path, and counts skipped
// files by reason. Archives are untrusted: names never reach the file system, and declared sizes limit what is
// unpacked.
package archive

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/format"
)

// Limits bound what is read from an archive.
type Limits struct {
	Files    int   // number of files
	Unpacked int64 // total unpacked size of these files, in bytes
	File     int64 // unpacked size of one file, in bytes
}

const (
	// MaxPath is the maximum length of a file's path, in characters.
	MaxPath = 500
	// The maximum size of an archive's directory is minDirectory bytes plus directoryPerFile for each file that may be
	// read.
	minDirectory     = 1 << 20
	directoryPerFile = 512
)

// Reasons for skipping files, besides limits. They complete the sentence "3 files were left out:".
const (
	Encrypted  = "encrypted"
	Compressed = "compressed with an unsupported method"
	Damaged    = "damaged"
	Empty      = "empty"
	Hidden     = "hidden"
	Nested     = "an archive inside the archive"
	duplicate  = "another file has the same path"
	special    = "a link or a special file"
)

var longPath = fmt.Sprintf("the path has more than %d characters", MaxPath)

// Archive is an open archive.
type Archive struct {
	Files   []File // files to read, in the order of the archive's directory
	LeftOut Reasons
}

// File is a file in an archive.
type File struct {
	Path string // cleaned: relative, with slashes, in UTF-8, and unique in its archive
	Size int64  // unpacked
	file *zip.File
}

// Open returns a reader for the unpacked file. It fails with an error other than io.EOF if the content doesn't match
// the declared size and checksum.
func (f File) Open() (io.ReadCloser, error) {
	r, err := f.file.Open()
	if err != nil {
		return nil, fmt.Errorf("unpacking %q: %w", f.Path, err)
	}
	return r, nil
}

// Open reads the directory of an archive of `size` bytes. It returns a *format.Error if the archive is damaged or
// hostile. `data` must stay readable as long as files are read.
func Open(data io.ReaderAt, size int64, lim Limits) (*Archive, error) {
	var fault *fs.PathError
	src := &directoryReader{ReaderAt: data, left: minDirectory + int64(lim.Files)*directoryPerFile}
	zr, err := zip.NewReader(src, size)
	switch {
	case src.left < 0:
		return nil, format.Errorf(format.TooLarge, "the archive has too many files; at most %d can be read", lim.Files)
	case errors.As(err, &fault):
		return nil, fmt.Errorf("reading the directory of an archive: %w", err)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath): // paths are cleaned below
		return nil, format.NotA("ZIP archive", err)
	}
	src.left = math.MaxInt64
	if err := checkRatio(zr.File, size); err != nil {
		return nil, err
	}
	a := &Archive{}
	seen, left := map[string]bool{}, lim.Unpacked
	names := decodeNames(zr.File)
	for i, f := range zr.File {
		name := cleanPath(names[i])
		if isFolder(f, names[i]) || name == "" || isSystemFile(name) {
			continue
		}
		unpacked := int64(min(f.UncompressedSize64, math.MaxInt64))
		why := ""
		switch {
		case utf8.RuneCountInString(name) > MaxPath:
			why = longPath
		case isHidden(name):
			why = Hidden
		case f.Mode()&fs.ModeType != 0:
			why = special
		case f.Flags&1 != 0:
			why = Encrypted
		case f.Method != zip.Store && f.Method != zip.Deflate:
			why = Compressed
		case unpacked == 0:
			why = Empty
		case seen[name]:
			why = duplicate
		case unpacked > lim.File:
			why = "larger than " + format.SizeText(lim.File)
		case len(a.Files) == lim.Files:
			why = fmt.Sprintf("the limit is %d files per archive", lim.Files)
		case unpacked > left:
			why = "the limit is " + format.SizeText(lim.Unpacked) + " per archive"
		}
		if why != "" {
			a.LeftOut.Add(why, name)
			continue
		}
		seen[name] = true
		left -= unpacked
		a.Files = append(a.Files, File{Path: name, Size: unpacked, file: f})
	}
	return a, nil
}

// checkRatio rejects archives whose expansion ratio is so high that they must be hostile.
func checkRatio(files []*zip.File, size int64) error {
	total, packed := uint64(0), uint64(max(size, 1))
	for _, f := range files {
		total += min(f.UncompressedSize64, math.MaxUint64-total)
	}
	if total > format.MinBomb && total/packed > format.MaxRatio {
		return format.Errorf(format.TooLarge, "the archive unpacks to %d times its size; the limit is %d times", total/packed, format.MaxRatio)
	}
	return nil
}

// directoryReader limits the number of bytes read for the archive's directory, because its entries take up memory.
type directoryReader struct {
	io.ReaderAt
	left int64
}

var errDirectory = errors.New("the archive's central directory is too large")

// ReadAt implements io.ReaderAt.
func (r *directoryReader) ReadAt(b []byte, at int64) (int, error) {
	if r.left < math.MaxInt64 { // not concurrent: only one goroutine reads the directory
		if r.left -= int64(len(b)); r.left < 0 {
			return 0, errDirectory
		}
	}
	return r.ReaderAt.ReadAt(b, at)
}
