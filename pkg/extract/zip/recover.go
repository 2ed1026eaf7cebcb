package zip

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/sluice/sluice/pkg/extract/format"
)

// Fixed fields of the local header that precedes each packed part.
const (
	localHeaderSize = 30
	localSignature  = "PK\x03\x04"
)

// maxRecovered is the maximum size, in bytes, of a container to repack if its directory is missing. Repacking needs all
// of it in memory.
const maxRecovered = 64 << 20

// recoverParts opens a container without a directory. The directory is at the end, so truncated uploads lack it. The
// parts are found by their local headers and repacked; the last one may be incomplete.
func recoverParts(p *format.Parser, cause error) (*zip.Reader, error) {
	what := p.Formats.PackedNames() + " file"
	if p.Src.Size > maxRecovered {
		return nil, format.NotA(what, cause)
	}
	data, err := p.Src.Bytes()
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	found, err := repack(p.Ctx, &packed, data, p.Lim.MaxUnpacked)
	if err != nil {
		return nil, err
	}
	if found == 0 {
		return nil, format.NotA(what, cause)
	}
	zr, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		return nil, format.NotA(what, cause)
	}
	p.Out.Warn("the file is damaged: it is incomplete or its directory is missing; only the parts that were found were read")
	p.Src.Data, p.Src.Size = bytes.NewReader(packed.Bytes()), int64(packed.Len())
	return zr, nil
}

// repack writes a new container with the parts found by their local headers and returns the number of parts. If the
// parts unpack to more than `limit` bytes, it returns an *Error of kind TooLarge. If the context is done, it returns
// the context's error.
func repack(ctx context.Context, to io.Writer, data []byte, limit int64) (found int, err error) {
	z, left := zip.NewWriter(to), limit
	for range format.MaxZipEntries {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		at := bytes.Index(data, []byte(localSignature))
		if at < 0 || len(data) < at+localHeaderSize {
			break
		}
		data = data[at:]
		name, method, body, ok := localHeader(data)
		if !ok {
			data = data[len(localSignature):]
			continue
		}
		start := len(data) - len(body)
		if method == zip.Store { // only the stored size shows where the part ends
			body = body[:min(int64(len(body)), int64(binary.LittleEndian.Uint32(data[18:])))]
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return found, format.NotA("docx, pptx or xlsx file", err)
		}
		used, size, err := unpackInto(ctx, w, method, body, min(left, format.MaxPart))
		switch {
		case err != nil:
			return found, err
		case size > left:
			return found, format.Errorf(format.TooLarge, "the file unpacks to more than %s", format.SizeText(limit))
		case size > format.MaxPart:
			return found, format.Errorf(format.TooLarge, "part %q of the file unpacks to more than %s", format.Cut(name, 100), format.SizeText(format.MaxPart))
		}
		left -= size
		if size > 0 {
			found++
		}
		data = data[start+used:]
	}
	if err := z.Close(); err != nil {
		return 0, format.NotA("docx, pptx or xlsx file", err)
	}
	return found, nil
}

// localHeader reads the local header at the start of `data`. `body` is the data after the header.
func localHeader(data []byte) (name string, method uint16, body []byte, ok bool) {
	le := binary.LittleEndian
	flags, method := le.Uint16(data[6:]), le.Uint16(data[8:])
	nameLen, extraLen := int(le.Uint16(data[26:])), int(le.Uint16(data[28:]))
	if flags&1 != 0 || method != zip.Store && method != zip.Deflate || nameLen == 0 || nameLen > 512 || len(data) < localHeaderSize+nameLen+extraLen {
		return "", 0, nil, false
	}
	name = string(data[localHeaderSize : localHeaderSize+nameLen])
	return name, method, data[localHeaderSize+nameLen+extraLen:], true
}

// unpackInto unpacks a part, or the intact beginning of a damaged part, up to `limit`+1 bytes. It returns the packed
// and unpacked sizes.
func unpackInto(ctx context.Context, w io.Writer, method uint16, body []byte, limit int64) (used int, size int64, err error) {
	if method == zip.Store {
		n, err := w.Write(body[:min(int64(len(body)), limit+1)])
		if err != nil {
			return n, int64(n), format.NotA("docx, pptx or xlsx file", err)
		}
		return n, int64(n), nil
	}
	src := bytes.NewReader(body)
	// flate reads no more than necessary, because src is an io.ByteReader.
	size, err = io.Copy(w, io.LimitReader(contextReader{ctx, flate.NewReader(src)}, limit+1))
	var corrupt flate.CorruptInputError
	if ctx.Err() != nil {
		return 0, size, ctx.Err()
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &corrupt) {
		return 0, size, format.NotA("docx, pptx or xlsx file", err)
	}
	return len(body) - src.Len(), size, nil
}

// contextReader fails once its context is done.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
