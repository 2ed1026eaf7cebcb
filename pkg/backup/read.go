package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Sink receives an archive's content. Damage may be detected late, so a sink must not use the content until Read has
// succeeded.
type Sink interface {
	// Catalog receives the catalog. It may leave some of `content` unread.
	Catalog(ctx context.Context, h Header, content io.Reader) error
	// Original receives an original of the given size. It may leave some of `content` unread.
	Original(ctx context.Context, key string, size int64, content io.Reader) error
	// Drop removes an original that the sink has already received. Read calls it for originals that were already
	// damaged when the backup was written.
	Drop(ctx context.Context, key string) error
}

// Options determine what Read accepts.
type Options struct {
	Schema int64                  // the newest catalog schema that the program supports; 0 accepts any
	Key    func(key string) error // returns an error if key is not a valid key of an original
}

// Size limits, in bytes, for members that are read into memory.
const (
	maxHeader = 64 << 10
	maxLoss   = 16 << 10
)

// Read reads an archive to the end and passes the content to the sink. If sink is nil, Read only verifies the archive.
// It needs a few megabytes of memory, regardless of the archive's size. The error is a DamagedError if the archive is
// damaged, ErrNewer if this program is too old to read it, and an AbortedError if the backup was aborted. Originals
// already lost when the backup was written do not cause an error; the report lists them.
func Read(ctx context.Context, r io.Reader, o Options, sink Sink) (Report, error) {
	in := &countingReader{r: contextReader{ctx, r}}
	unpacker, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8*windowSize))
	if err != nil {
		return Report{}, fmt.Errorf("creating the decompressor: %w", err)
	}
	defer unpacker.Close()
	a := &reading{tar: tar.NewReader(unpacker), opts: o, sink: sink, sums: sha256.New()}
	if err := a.run(ctx); err != nil {
		return a.report, a.explain(ctx, err, in)
	}
	// Read to the end, because the checksums for the compressed data come last.
	if n, err := io.Copy(io.Discard, unpacker); err != nil {
		return a.report, a.explain(ctx, err, in)
	} else if n > maxTrailer {
		return a.report, &DamagedError{sumsName, "there is data after its end"}
	}
	a.report.ArchiveBytes = in.n
	return a.report, nil
}

// Maximum padding after the end of a tar file, in bytes.
const maxTrailer = 1 << 20

// reading is the state of one Read call.
type reading struct {
	tar    *tar.Reader
	opts   Options
	sink   Sink
	report Report
	sums   hash.Hash // digest of SHA256SUMS's expected content
	last   string    // the current member's name

	mismatched string // member whose digest does not match; the next member may declare it damaged
}

// errSink wraps an error from the sink, to distinguish it from errors in the archive.
type errSink struct{ error }

func (e errSink) Unwrap() error { return e.error }

// explain turns err, an error from the tar or zstd reader, into the one that Read returns. If `in`, the underlying
// reader, has failed, its error takes precedence.
func (a *reading) explain(ctx context.Context, err error, in *countingReader) error {
	var damaged *DamagedError
	var aborted *AbortedError
	var sink errSink
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case in.err != nil: // disk or connection error
		return fmt.Errorf("reading the archive: %w", in.err)
	case errors.As(err, &sink):
		return sink.error
	case errors.As(err, &damaged), errors.As(err, &aborted), errors.Is(err, ErrNewer):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if a.last == "" {
			return &DamagedError{"", "the archive ends before its first file"}
		}
		return &DamagedError{a.last, "the archive ends early"}
	case a.last == "":
		return &DamagedError{"", "this is not a backup: " + err.Error()}
	}
	return &DamagedError{a.last, err.Error()}
}

func (a *reading) run(ctx context.Context) error {
	for {
		h, err := a.tar.Next()
		if err != nil { // also io.EOF: SHA256SUMS must come first
			return err
		}
		if h.Typeflag != tar.TypeReg {
			return &DamagedError{a.last, "the entry after it is not a file"}
		}
		first := a.last == ""
		if first != (h.Name == headerName) {
			return a.misplacedError(h.Name)
		}
		if second := a.last == headerName; second != (h.Name == catalogName) && h.Name != abortedName {
			return a.misplacedError(h.Name)
		}
		if known := damagedPath + strings.TrimPrefix(a.mismatched, originalsPath); a.mismatched != "" && h.Name != known && h.Name != abortedName {
			return &DamagedError{a.mismatched, "its content does not match its SHA-256"}
		}
		a.last = h.Name
		if h.Name == sumsName {
			return a.seal()
		}
		if err := a.member(ctx, h); err != nil {
			return err
		}
	}
}

func (a *reading) misplacedError(name string) error {
	if len(name) > 200 {
		name = name[:200]
	}
	if a.last == "" {
		return &DamagedError{"", fmt.Sprintf("this is not a backup: it begins with %q", name)}
	}
	return &DamagedError{a.last, fmt.Sprintf("the file %q must not come after it", name)}
}

// member reads one member and records its digest.
func (a *reading) member(ctx context.Context, h *tar.Header) error {
	sum := sha256.New()
	content := io.TeeReader(a.tar, sum)
	folder, key, _ := strings.Cut(h.Name, "/")
	folder += "/"
	if key != "" && a.opts.Key != nil {
		if err := a.opts.Key(key); err != nil {
			return &DamagedError{h.Name, "its name is not a valid name for an original"}
		}
	}
	var err error
	switch {
	case h.Name == headerName:
		err = a.header(content, h.Size)
	case h.Name == catalogName:
		a.report.CatalogBytes = h.Size
		err = a.passToSink(content, func(r io.Reader) error { return a.sink.Catalog(ctx, a.report.Header, r) })
	case h.Name == abortedName:
		return a.aborted(content, h.Size)
	case folder == originalsPath && key != "":
		err = a.passToSink(content, func(r io.Reader) error { return a.sink.Original(ctx, key, h.Size, r) })
	case (folder == missingPath || folder == damagedPath) && key != "":
		err = a.loss(ctx, folder, key, content, h.Size)
	default:
		return a.misplacedError(h.Name)
	}
	if err != nil {
		return err
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	a.sums.Write([]byte(sumLine(digest, h.Name)))
	switch {
	case digest != h.PAXRecords[digestRecord]:
		a.mismatched = h.Name
	case folder == originalsPath:
		a.report.Originals++
		a.report.OriginalsBytes += h.Size
	}
	return nil
}

// passToSink calls `take` with a member's content and drains whatever the sink leaves unread.
func (a *reading) passToSink(content io.Reader, take func(io.Reader) error) error {
	if a.sink != nil {
		guarded := &faultReader{r: content}
		if err := take(guarded); err != nil {
			if guarded.err != nil {
				return guarded.err // the sink failed because the read failed
			}
			return errSink{err}
		}
	}
	_, err := io.Copy(io.Discard, content)
	return err
}

func (a *reading) header(content io.Reader, size int64) error {
	if size > maxHeader {
		return &DamagedError{headerName, "it is too long"}
	}
	b, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &a.report.Header); err != nil || a.report.Format < 1 {
		return &DamagedError{headerName, "it cannot be read"}
	}
	switch h := a.report.Header; {
	case h.Format > Format:
		return fmt.Errorf("the backup has format %d, but this program only reads formats up to %d: it was %w (%s); restore it with that version or a newer one",
			h.Format, Format, ErrNewer, h.Program)
	case a.opts.Schema > 0 && h.Schema > a.opts.Schema:
		return fmt.Errorf("the catalog in the backup has schema version %d, but this program only reads versions up to %d: it was %w (%s); restore it with that version or a newer one",
			h.Schema, a.opts.Schema, ErrNewer, h.Program)
	}
	return nil
}

func (a *reading) aborted(content io.Reader, size int64) error {
	if size > maxLoss {
		return &DamagedError{abortedName, "it is too long"}
	}
	reason, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return &AbortedError{strings.ToValidUTF8(string(reason), "?")}
}

func (a *reading) loss(ctx context.Context, folder, key string, content io.Reader, size int64) error {
	if size > maxLoss {
		return &DamagedError{folder + key, "it is too long"}
	}
	b, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	var l Loss
	if err := json.Unmarshal(b, &l); err != nil || l.Key != key {
		return &DamagedError{folder + key, "it cannot be read"}
	}
	if folder == damagedPath {
		if a.mismatched != originalsPath+key {
			return &DamagedError{folder + key, "it does not follow the original that it describes"}
		}
		a.mismatched = ""
		if a.sink != nil {
			if err := a.sink.Drop(ctx, key); err != nil {
				return errSink{err}
			}
		}
	}
	a.report.addLoss(l)
	return nil
}

// seal checks the end of the archive: SHA256SUMS must list the digest of every member, and nothing may follow it.
func (a *reading) seal() error {
	want := a.sums.Sum(nil)
	got := sha256.New()
	if _, err := io.Copy(got, a.tar); err != nil {
		return err
	}
	if string(got.Sum(nil)) != string(want) {
		return &DamagedError{sumsName, "it does not match the files in the archive"}
	}
	switch _, err := a.tar.Next(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return &DamagedError{sumsName, "there are more files after it"}
}

// countingReader counts bytes and remembers the first read error.
type countingReader struct {
	r   io.Reader
	n   int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.err = err
	}
	return n, err
}

// faultReader remembers a read error.
type faultReader struct {
	r   io.Reader
	err error
}

func (f *faultReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
