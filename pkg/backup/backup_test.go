package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sluice/sluice/pkg/domain"
)

var (
	errGone    = errors.New("gone")
	errSpoiled = errors.New("spoiled")
	errDown    = errors.New("down")
)

func lost(err error) string {
	switch {
	case errors.Is(err, errGone):
		return ReasonMissing
	case errors.Is(err, errSpoiled):
		return ReasonDamaged
	}
	return ""
}

// testSource is an in-memory source for a backup. Individual originals can be made to fail on open or while being read.
type testSource struct {
	keys    []string
	content map[string][]byte
	faults  map[string]error // returned by Open
	ends    map[string]error // returned instead of io.EOF
}

func newTestSource(sizes ...int) *testSource {
	s := &testSource{content: map[string][]byte{}, faults: map[string]error{}, ends: map[string]error{}}
	for i, size := range sizes {
		key := fmt.Sprintf("d%d.u-%d", i, i)
		s.keys = append(s.keys, key)
		s.content[key] = noise(size, byte(i))
	}
	return s
}

// noise returns n incompressible bytes.
func noise(n int, seed byte) []byte {
	out := make([]byte, 0, n+sha256.Size)
	for sum := sha256.Sum256([]byte{seed}); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = append(out, sum[:]...)
	}
	return out[:n]
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

const catalogText = "the catalog as it was"

func (s *testSource) write(t testing.TB, ctx context.Context, w io.Writer) (Report, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(path, []byte(catalogText), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := Write(ctx, w, Content{
		Header: Header{Program: "test", Schema: 7, Catalog: "c", CreatedAt: time.Unix(1, 0).UTC()}, Catalog: path, TempDir: dir, Lost: lost,
		Each: func(ctx context.Context, f func(string, domain.Original) error) error {
			for _, key := range s.keys {
				id, _, _ := strings.Cut(key, ".")
				if err := f(id, domain.Original{Key: key, SHA256: digest(s.content[key]), Size: int64(len(s.content[key])), Name: key + ".txt"}); err != nil {
					return err
				}
			}
			return nil
		},
		Open: func(_ context.Context, key string) (io.ReadCloser, error) {
			if err := s.faults[key]; err != nil {
				return nil, err
			}
			r := io.Reader(bytes.NewReader(s.content[key]))
			if err := s.ends[key]; err != nil {
				r = io.MultiReader(io.LimitReader(r, int64(len(s.content[key])/2)), failing{err})
			}
			return io.NopCloser(r), nil
		},
	})
	left, _ := filepath.Glob(filepath.Join(dir, "sums-*"))
	if len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
	return report, err
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type memorySink struct {
	catalog   string
	originals map[string][]byte
	fail      error
}

func (t *memorySink) Catalog(_ context.Context, _ Header, r io.Reader) error {
	b, err := io.ReadAll(r)
	t.catalog = string(b)
	return err
}

func (t *memorySink) Original(_ context.Context, key string, _ int64, r io.Reader) error {
	if t.fail != nil {
		return t.fail
	}
	b, err := io.ReadAll(r)
	if t.originals == nil {
		t.originals = map[string][]byte{}
	}
	t.originals[key] = b
	return err
}

func (t *memorySink) Drop(_ context.Context, key string) error {
	delete(t.originals, key)
	return nil
}

func TestAnArchiveRoundTrips(t *testing.T) {
	t.Parallel()
	s := newTestSource(0, 1, blockSize-1, blockSize, blockSize+1, 3*blockSize+5)
	var archive bytes.Buffer
	written, err := s.write(t, t.Context(), &archive)
	if err != nil {
		t.Fatal(err)
	}
	var got memorySink
	read, err := Read(t.Context(), bytes.NewReader(archive.Bytes()), Options{Schema: 7}, &got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, read); diff != "" || read.Originals != 6 || read.ArchiveBytes != int64(archive.Len()) {
		t.Errorf("the reader's report (-written +read):\n%s", diff)
	}
	if !maps.EqualFunc(s.content, got.originals, bytes.Equal) || got.catalog != catalogText {
		t.Errorf("catalog %q, and the originals are others", got.catalog)
	}
	checked, err := Read(t.Context(), bytes.NewReader(archive.Bytes()), Options{Schema: 7}, nil)
	if diff := cmp.Diff(written, checked); err != nil || diff != "" {
		t.Errorf("checking it: %v\n%s", err, diff)
	}
}

func TestCommonToolsReadAnArchive(t *testing.T) {
	t.Parallel()
	check, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("there is no sha256sum on this machine")
	}
	var archive bytes.Buffer
	if _, err := newTestSource(10, 2000).write(t, t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	unpacked, err := zstd.NewReader(&archive)
	if err != nil {
		t.Fatal(err)
	}
	defer unpacked.Close()
	dir := t.TempDir()
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		b, err := io.ReadAll(r)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), check, "--check", "--strict", sumsName)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

func TestLostOriginalsAreNamedAndTheRestIsKept(t *testing.T) {
	t.Parallel()
	s := newTestSource(100, 3*blockSize, 300, 400)
	s.faults[s.keys[0]], s.ends[s.keys[1]] = errGone, errSpoiled
	long := s.keys[2]
	var archive bytes.Buffer
	written, err := s.write(t, t.Context(), &archive)
	if err != nil {
		t.Fatal(err)
	}
	var got memorySink
	read, err := Read(t.Context(), &archive, Options{}, &got)
	if err != nil {
		t.Fatal(err)
	}
	want := []Loss{{s.keys[0], "d0", s.keys[0] + ".txt", ReasonMissing}, {s.keys[1], "d1", s.keys[1] + ".txt", ReasonDamaged}}
	if diff := cmp.Diff(want, read.Losses); diff != "" || read.Lost != 2 || written.Lost != 2 || read.Originals != 2 {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
	whole := map[string][]byte{long: s.content[long], s.keys[3]: s.content[s.keys[3]]}
	if !maps.EqualFunc(whole, got.originals, bytes.Equal) {
		t.Errorf("%d originals are kept, want 2", len(got.originals))
	}
}

func TestAnAbortedBackupIsMarked(t *testing.T) {
	t.Parallel()
	s := newTestSource(100, 2*blockSize)
	s.ends[s.keys[1]] = errDown
	var archive bytes.Buffer
	if _, err := s.write(t, t.Context(), &archive); !errors.Is(err, errDown) {
		t.Fatalf("error is %v", err)
	}
	var aborted *AbortedError
	if _, err := Read(t.Context(), &archive, Options{}, &memorySink{}); !errors.As(err, &aborted) {
		t.Errorf("the reader says %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s = newTestSource(100, 2*blockSize, 100)
	s.ends[s.keys[1]] = cancelling{cancel}
	archive.Reset()
	if _, err := s.write(t, ctx, &archive); !errors.Is(err, context.Canceled) && ctx.Err() == nil {
		t.Fatalf("error is %v", err)
	}
	if _, err := Read(t.Context(), &archive, Options{}, &memorySink{}); !errors.As(err, &aborted) || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("the reader says %v", err)
	}
}

// cancelling is an error that calls `cancel` when its text is read or errors.Is compares it.
type cancelling struct{ cancel func() }

func (c cancelling) Error() string { c.cancel(); return "stopped" }

func (c cancelling) Is(error) bool { c.cancel(); return false }

func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	s := newTestSource(3000, 10, 5000)
	s.faults[s.keys[1]] = errGone
	var buffer bytes.Buffer
	if _, err := s.write(t, t.Context(), &buffer); err != nil {
		t.Fatal(err)
	}
	archive := buffer.Bytes()
	t.Run("wherever a byte is changed", func(t *testing.T) {
		t.Parallel()
		for at := 0; at < len(archive); at += 7 {
			spoiled := bytes.Clone(archive)
			spoiled[at] ^= 0x55
			var got memorySink
			if _, err := Read(t.Context(), bytes.NewReader(spoiled), Options{}, &got); err == nil {
				t.Errorf("byte %d of %d was changed, and nobody says so", at, len(archive))
			}
		}
	})
	t.Run("wherever it is cut", func(t *testing.T) {
		t.Parallel()
		for n := 0; n < len(archive); n += 13 {
			var damaged *DamagedError
			if _, err := Read(t.Context(), bytes.NewReader(archive[:n]), Options{}, nil); !errors.As(err, &damaged) {
				t.Errorf("cut to %d of %d bytes: %v", n, len(archive), err)
			}
		}
	})
	t.Run("below the compression, and named", func(t *testing.T) {
		t.Parallel()
		plain := unpack(t, archive)
		for what, member := range map[string]string{"catalog": catalogName, "original": originalsPath + s.keys[0], "last original": originalsPath + s.keys[2]} {
			content := []byte(catalogText)
			if key, ok := strings.CutPrefix(member, originalsPath); ok {
				content = s.content[key]
			}
			at := bytes.Index(plain, content)
			spoiled := bytes.Clone(plain)
			spoiled[at+len(content)/2] ^= 1
			var damaged *DamagedError
			_, err := Read(t.Context(), bytes.NewReader(pack(t, spoiled)), Options{}, nil)
			if !errors.As(err, &damaged) || damaged.Member != member {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func unpack(t testing.TB, archive []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func pack(t testing.TB, plain []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// member is one archive member, for makeArchive.
type member struct{ name, content string }

func makeArchive(t testing.TB, members ...member) []byte {
	t.Helper()
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, m := range members {
		h := &tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatPAX, Name: m.name, Size: int64(len(m.content)),
			PAXRecords: map[string]string{digestRecord: digest([]byte(m.content))}}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return pack(t, plain.Bytes())
}

func TestOtherFilesAreRefused(t *testing.T) {
	t.Parallel()
	head := member{headerName, `{"format":1,"schema":7,"program":"test"}`}
	catalog := member{catalogName, "x"}
	for name, c := range map[string]struct {
		archive []byte
		says    string
	}{
		"nothing":                        {nil, "before its first file"},
		"something else":                 {[]byte("PK\x03\x04 this is a zip"), "this is not a backup"},
		"another tar":                    {makeArchive(t, member{"etc/passwd", "root"}), "this is not a backup"},
		"a newer format":                 {makeArchive(t, member{headerName, `{"format":2,"program":"v9"}`}), "newer version of the program (v9)"},
		"a newer schema":                 {makeArchive(t, member{headerName, `{"format":1,"schema":8,"program":"v9"}`}), "schema version 8"},
		"a header that is not an object": {makeArchive(t, member{headerName, `[]`}), "cannot be read"},
		"a huge header":                  {makeArchive(t, member{headerName, strings.Repeat(" ", maxHeader+1)}), "too long"},
		"no catalog":                     {makeArchive(t, head, member{originalsPath + "d.u-1", "x"}), "must not come after it"},
		"a second catalog":               {makeArchive(t, head, catalog, catalog), "must not come after it"},
		"a path that climbs":             {makeArchive(t, head, catalog, member{originalsPath + "../../x", "x"}), "its name is not a valid name for an original"},
		"an unknown member":              {makeArchive(t, head, catalog, member{"x", "x"}), "must not come after it"},
		"damage without an original":     {makeArchive(t, head, catalog, member{damagedPath + "d.u-1", `{"key":"d.u-1"}`}), "does not follow the original that it describes"},
		"digests of other members":       {makeArchive(t, head, catalog, member{sumsName, "x"}), "does not match the files"},
		"no digests":                     {makeArchive(t, head, catalog), "ends early"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := func(k string) error {
				if strings.Contains(k, "/") {
					return errors.New("no key")
				}
				return nil
			}
			_, err := Read(t.Context(), bytes.NewReader(c.archive), Options{Schema: 7, Key: key}, &memorySink{})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestErrorsOfASinkAreReturned(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	if _, err := newTestSource(100).write(t, t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left on device")
	if _, err := Read(t.Context(), &archive, Options{}, &memorySink{fail: full}); !errors.Is(err, full) {
		t.Errorf("error is %v", err)
	}
}

func FuzzRead(f *testing.F) {
	var archive bytes.Buffer
	s := newTestSource(100, 10)
	s.faults[s.keys[1]] = errGone
	if _, err := s.write(f, f.Context(), &archive); err != nil {
		f.Fatal(err)
	}
	f.Add(archive.Bytes())
	f.Add(makeArchive(f, member{headerName, `{"format":1}`}, member{catalogName, ""}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, pack(t, b)} {
			var got memorySink
			report, err := Read(t.Context(), bytes.NewReader(in), Options{}, &got)
			if err == nil && int64(len(got.originals)) > report.Originals {
				t.Errorf("%d originals were kept, %d are reported", len(got.originals), report.Originals)
			}
		}
	})
}
