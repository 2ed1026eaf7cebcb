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
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/time/rate"

	"github.com/sluice/sluice/pkg/domain"
)

// Content is the data to back up.
type Content struct {
	Header Header // Format is set by Write
	// Catalog is the path to the catalog snapshot.
	Catalog string
	// Each calls f with every original in the catalog snapshot and its datasource's id. It stops at the first error
	// from f and returns it.
	Each func(ctx context.Context, f func(datasourceID string, o domain.Original) error) error
	// Open opens an original. Errors from opening or reading it go to Lost. If that returns a reason, the original is
	// recorded as lost and the backup continues; otherwise the backup fails.
	Open func(ctx context.Context, key string) (io.ReadCloser, error)
	// Lost returns ReasonMissing or ReasonDamaged if the error means that the original is lost, and otherwise "".
	Lost func(error) string
	// TempDir is where the temporary file with the digests is created.
	TempDir string
	// BytesPerSecond limits the read rate; 0 means no limit.
	BytesPerSecond int64
}

// Number of bytes copied at a time. The rate limit applies to each block of this size.
const blockSize = 256 << 10

// Write writes an archive. It needs a few megabytes of memory, regardless of the content's size. If Write fails, the
// output is not a valid archive. If possible, its last member then gives the reason.
func Write(ctx context.Context, w io.Writer, c Content) (report Report, err error) {
	sums, err := os.CreateTemp(c.TempDir, "sums-")
	if err != nil {
		return report, fmt.Errorf("making a file for the digests: %w", err)
	}
	defer os.Remove(sums.Name())
	defer sums.Close()
	out := &counter{w: w}
	packer, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(windowSize), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return report, fmt.Errorf("creating the compressor: %w", err)
	}
	a := &archive{tar: tar.NewWriter(packer), sums: sums, buffer: make([]byte, blockSize)}
	if c.BytesPerSecond > 0 {
		a.limit = rate.NewLimiter(rate.Limit(c.BytesPerSecond), blockSize)
	}
	c.Header.Format = Format
	a.report.Header = c.Header
	if err := a.fill(ctx, c); err != nil {
		// Write the reason into the archive, so that readers learn more than that it is truncated.
		if a.abort(c.Header.CreatedAt, reasonOf(ctx, err)) == nil {
			_ = packer.Close()
		}
		return a.report, err
	}
	if err := errors.Join(a.tar.Close(), packer.Close()); err != nil {
		return a.report, fmt.Errorf("ending the archive: %w", err)
	}
	a.report.ArchiveBytes = out.n
	return a.report, nil
}

// Compression window in bytes. It determines how much memory a reader needs.
const windowSize = 1 << 20

// reasonOf describes a failure for readers of the archive, without local paths.
func reasonOf(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "it was cancelled"
	}
	if code := domain.CodeOf(err); code == domain.CodeUnavailable {
		return "a dependency is down; the service's log has details"
	}
	return "the service's log has the reason"
}

// archive is an archive being written.
type archive struct {
	tar    *tar.Writer
	sums   *os.File
	limit  *rate.Limiter // nil: no limit
	buffer []byte
	report Report
	open   int64 // remaining bytes of the current member
}

func (a *archive) fill(ctx context.Context, c Content) error {
	head, err := json.Marshal(a.report.Header)
	if err != nil {
		return fmt.Errorf("encoding the header: %w", err)
	}
	if err := a.writeSmall(ctx, headerName, head); err != nil {
		return err
	}
	if err := a.catalog(ctx, c.Catalog); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	err = c.Each(ctx, func(datasourceID string, o domain.Original) error {
		if err := a.original(ctx, c, datasourceID, o); err != nil {
			return fmt.Errorf("writing original %s: %w", o.Key, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.seal()
}

func (a *archive) begin(name string, size int64, digest string) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg, Format: tar.FormatPAX, Name: name, Mode: 0o600, Size: size, ModTime: a.report.CreatedAt.Truncate(time.Second),
	}
	if digest != "" {
		h.PAXRecords = map[string]string{digestRecord: digest}
	}
	if err := a.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("writing the header of %s: %w", name, err)
	}
	a.open = size
	return nil
}

func (a *archive) write(ctx context.Context, p []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.limit != nil {
		if err := a.limit.WaitN(ctx, len(p)); err != nil {
			return err
		}
	}
	n, err := a.tar.Write(p)
	a.open -= int64(n)
	return err
}

func (a *archive) recordDigest(sum hash.Hash, name string) error {
	if _, err := io.WriteString(a.sums, sumLine(hex.EncodeToString(sum.Sum(nil)), name)); err != nil {
		return fmt.Errorf("keeping a digest: %w", err)
	}
	return nil
}

func sumLine(digest, name string) string { return digest + "  " + name + "\n" }

func (a *archive) writeSmall(ctx context.Context, name string, content []byte) error {
	sum := sha256.New()
	sum.Write(content)
	if err := a.begin(name, int64(len(content)), hex.EncodeToString(sum.Sum(nil))); err != nil {
		return err
	}
	if err := a.write(ctx, content); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return a.recordDigest(sum, name)
}

func (a *archive) catalog(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	whole := sha256.New()
	size, err := io.CopyBuffer(whole, onlyReader{contextReader{ctx, file}}, a.buffer)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := a.begin(catalogName, size, hex.EncodeToString(whole.Sum(nil))); err != nil {
		return err
	}
	sum := sha256.New()
	if err := a.copy(ctx, io.LimitReader(file, size), sum); err != nil {
		return err
	}
	a.report.CatalogBytes = size
	return a.recordDigest(sum, catalogName)
}

// readError wraps an error from reading the content, to distinguish it from errors in writing the archive.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

func (a *archive) copy(ctx context.Context, r io.Reader, sum hash.Hash) error {
	for {
		n, err := r.Read(a.buffer)
		if int64(n) > a.open {
			return readError{errTooLong}
		}
		if n > 0 {
			sum.Write(a.buffer[:n])
			if err := a.write(ctx, a.buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return readError{err}
		}
	}
}

var errTooLong = errors.New("it is longer than recorded in the catalog")

// original writes one original, or a Loss if the original can't be opened. The tar header has already stated the
// length, so content that ends early is padded with zeros. If the content turns out to be damaged, a Loss follows as
// the next member.
func (a *archive) original(ctx context.Context, c Content, datasourceID string, o domain.Original) error {
	loss := Loss{Key: o.Key, Datasource: datasourceID, Name: o.Name}
	content, err := c.Open(ctx, o.Key)
	if err != nil {
		if loss.Reason = c.Lost(err); loss.Reason == "" || ctx.Err() != nil {
			return err
		}
		return a.loss(ctx, missingPath, loss)
	}
	defer content.Close()
	name := originalsPath + o.Key
	if err := a.begin(name, o.Size, o.SHA256); err != nil {
		return err
	}
	sum := sha256.New()
	err = a.copy(ctx, content, sum)
	var fault readError
	switch {
	case errors.As(err, &fault) && ctx.Err() == nil:
		if loss.Reason = c.Lost(fault.error); errors.Is(err, errTooLong) {
			loss.Reason = ReasonDamaged
		}
		if loss.Reason == "" {
			return err
		}
	case err != nil:
		return err
	}
	short := a.open > 0
	if err := a.pad(ctx, sum); err != nil {
		return err
	}
	if err := a.recordDigest(sum, name); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != o.SHA256 || short {
		loss.Reason = orDamaged(loss.Reason)
		return a.loss(ctx, damagedPath, loss)
	}
	a.report.Originals++
	a.report.OriginalsBytes += o.Size
	return nil
}

func orDamaged(reason string) string {
	if reason == "" {
		return ReasonDamaged
	}
	return reason
}

func (a *archive) pad(ctx context.Context, sum hash.Hash) error {
	if a.open == 0 {
		return nil
	}
	clear(a.buffer)
	for a.open > 0 {
		zeros := a.buffer[:min(a.open, int64(len(a.buffer)))]
		sum.Write(zeros)
		if err := a.write(ctx, zeros); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) loss(ctx context.Context, folder string, l Loss) error {
	// Uploaded files can have names of any length, but the report only needs the start.
	if runes := []rune(l.Name); len(runes) > maxLossName {
		l.Name = string(runes[:maxLossName]) + "…"
	}
	content, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encoding a loss: %w", err)
	}
	a.report.addLoss(l)
	return a.writeSmall(ctx, folder+l.Key, content)
}

// Maximum length of Loss.Name in characters.
const maxLossName = 500

// seal writes SHA256SUMS, which marks the archive as complete.
func (a *archive) seal() error {
	size, err := a.sums.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("reading the digests: %w", err)
	}
	if _, err := a.sums.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the digests: %w", err)
	}
	if err := a.begin(sumsName, size, ""); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(onlyWriter{a.tar}, onlyReader{io.LimitReader(a.sums, size)}, a.buffer); err != nil {
		return fmt.Errorf("writing the digests: %w", err)
	}
	return nil
}

func (a *archive) abort(at time.Time, reason string) error {
	ctx := context.Background() // the writer is the only thing that can block here
	a.limit = nil
	if err := a.pad(ctx, sha256.New()); err != nil {
		return err
	}
	content := []byte(reason)
	h := &tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatPAX, Name: abortedName, Mode: 0o600, Size: int64(len(content)), ModTime: at.Truncate(time.Second)}
	if err := a.tar.WriteHeader(h); err != nil {
		return err
	}
	if _, err := a.tar.Write(content); err != nil {
		return err
	}
	return a.tar.Close()
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// onlyReader and onlyWriter hide ReadFrom and WriteTo, which would keep io.CopyBuffer from using its buffer.
type onlyReader struct{ io.Reader }

type onlyWriter struct{ io.Writer }

// contextReader fails once its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
