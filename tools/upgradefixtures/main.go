// Command upgradefixtures makes the data directories of older versions that the tests of upgrades begin with, one for each
// version of the catalog's schema: it builds the last commit with that version, has it serve, and puts in what the tests look
// for. Fixtures that are there already are kept, since what an old program wrote never changes:
//
//	go run ./tools/upgradefixtures [-dir testdata/upgrade]
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // reads what the old programs have written
)

// key is the API key of all fixtures; the tests use it.
const key = "sk_test_0123456789abcdef0123456789abcdef"

func main() {
	dir := flag.String("dir", "testdata/upgrade", "where the fixtures lie")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "upgradefixtures:", err)
		os.Exit(1) //nolint:gocritic // the signal's handler ends with the process
	}
}

// neverWhole is a version that no commit had in its final form: its migration was completed after the next one had come.
const neverWhole = 4

func run(ctx context.Context, dir string) error {
	versions, err := versionsOf(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range versions {
		v := &versions[i]
		if v.schema == neverWhole {
			continue
		}
		out := filepath.Join(dir, fmt.Sprintf("schema-%02d.tar.zst", v.schema))
		if _, err := os.Stat(out); err == nil {
			continue
		}
		size, err := v.fixture(ctx, out)
		if err != nil {
			return fmt.Errorf("schema %d, commit %.12s: %w", v.schema, v.commit, err)
		}
		fmt.Printf("schema %d, commit %.12s: %s, %d bytes\n", v.schema, v.commit, out, size)
	}
	return nil
}

// version is one of the catalog's schema, with the last commit that had it.
type version struct {
	schema int
	commit string
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func versionsOf(ctx context.Context) (all []version, err error) {
	const folder = "pkg/catalog/migrations/"
	files, err := git(ctx, "ls-files", folder)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(files)
	slices.Sort(names)
	for i := range names {
		v := version{schema: i + 1}
		if i+1 == len(names) {
			v.commit, err = git(ctx, "rev-parse", "HEAD")
		} else {
			var added string
			if added, err = git(ctx, "log", "--diff-filter=A", "--reverse", "--format=%H", "--", names[i+1]); err == nil {
				v.commit, err = git(ctx, "rev-parse", strings.Fields(added)[0]+"^")
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// fixture builds the version and has it make a data directory.
func (v *version) fixture(ctx context.Context, out string) (size int64, err error) {
	work, err := os.MkdirTemp("", "upgrade-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if _, err := git(ctx, "worktree", "prune"); err != nil {
		return 0, err
	}
	if _, err := git(ctx, "worktree", "add", "--detach", tree, v.commit); err != nil {
		return 0, err
	}
	defer func() {
		_, gone := git(context.WithoutCancel(ctx), "worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	program := filepath.Join(work, "api")
	if v.commit, err = buildLast(ctx, tree, program); err != nil {
		return 0, err
	}
	s := &service{program: program, dir: filepath.Join(work, "data")}
	if err := s.fill(ctx); err != nil {
		return 0, err
	}
	return pack(s.dir, out)
}

// buildLast builds the newest commit that can be built, from the one that is checked out on, and returns which that is: a change
// of the schema and what uses it may have come in several commits.
func buildLast(ctx context.Context, tree, program string) (commit string, err error) {
	for range 20 {
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/api")
		build.Dir, build.Env = tree, append(os.Environ(), "CGO_ENABLED=0")
		var text []byte
		if text, err = build.CombinedOutput(); err == nil {
			return git(ctx, "-C", tree, "rev-parse", "HEAD")
		}
		err = fmt.Errorf("building it: %w\n%s", err, text)
		if _, err := git(ctx, "-C", tree, "checkout", "--quiet", "--detach", "HEAD^"); err != nil {
			return "", err
		}
	}
	return "", err
}

// service is an old program that serves.
type service struct {
	program, dir, addr string
	cmd                *exec.Cmd
}

func (s *service) start(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = l.Addr().String()
	l.Close()
	s.cmd = exec.CommandContext(ctx, s.program)
	s.cmd.Env = append(os.Environ(), "SLUICE_ADDR="+s.addr, "SLUICE_DATA_DIR="+s.dir, "SLUICE_API_KEY="+key)
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.until(ctx, func() bool {
		return s.call(ctx, http.MethodGet, "/readyz", "", nil, nil) == nil
	})
}

func (s *service) until(ctx context.Context, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			return errors.New("it does not come to that")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// stop ends it cleanly, or at once.
func (s *service) stop(cleanly bool) {
	if cleanly {
		_ = s.cmd.Process.Signal(os.Interrupt)
	} else {
		_ = s.cmd.Process.Kill()
	}
	_ = s.cmd.Wait() // killed, if it was
}

func (s *service) call(ctx context.Context, method, path, contentType string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, b)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func (s *service) post(ctx context.Context, path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, path, "application/json", bytes.NewReader(b), into)
}

func (s *service) upload(ctx context.Context, store, name, content string) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for k, v := range map[string]string{"type": "file", "datastoreId": store, "fileName": name, "custom_id": name} {
		if err := form.WriteField(k, v); err != nil {
			return err
		}
	}
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(part, content)
	}
	if err := errors.Join(err, form.Close()); err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, "/datasources", form.FormDataContentType(), &body, nil)
}

// documents are what every fixture holds; the tests search for the words.
var documents = []struct{ name, content string }{
	{"note.txt", "A note that mentions quokkas once. The pump of the east wing was serviced in May.\n"},
	{"manual.md", "# Warranty\n\nThe wombat pump has a warranty of seven years.\n\n## Service\n\nOil it twice a year.\n"},
	{"prices.csv", "article,price\npangolin valve,17\nother valve,18\n"},
}

// fill puts in what the tests look for, and ends the program in the middle of the last document.
func (s *service) fill(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("starting it: %w", err)
	}
	defer s.stop(false)
	var store, agent struct{ ID string }
	if err := s.post(ctx, "/datastores", map[string]any{"name": "Manuals"}, &store); err != nil {
		return err
	}
	for _, d := range documents {
		if err := s.upload(ctx, store.ID, d.name, d.content); err != nil {
			return err
		}
	}
	err := s.until(ctx, func() bool {
		var list struct{ Data []struct{ Status string } }
		err := s.call(ctx, http.MethodGet, "/datasources?datastoreId="+store.ID, "", nil, &list)
		return err == nil && len(list.Data) == len(documents) && !slices.ContainsFunc(list.Data, func(d struct{ Status string }) bool { return d.Status != "synched" })
	})
	if err != nil {
		return fmt.Errorf("waiting for the documents: %w", err)
	}
	if err := s.post(ctx, "/agents", map[string]any{"name": "Helper", "datastoreIds": []string{store.ID}}, &agent); err != nil {
		return err
	}
	if err := s.post(ctx, "/agents/"+agent.ID+"/query", map[string]any{"query": "How long is the warranty of the wombat pump?"}, nil); err != nil {
		return err
	}
	for try := range 20 {
		name := fmt.Sprintf("late-%d.txt", try)
		if err := s.upload(ctx, store.ID, name, "A late note about the numbat, which nobody has read yet.\n"+strings.Repeat("It is about numbers. ", 2000)); err != nil {
			return err
		}
		s.stop(false)
		if n, err := unfinished(ctx, filepath.Join(s.dir, "catalog.db")); err != nil || n > 0 {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	return errors.New("it was always quicker than the kill")
}

func unfinished(ctx context.Context, path string) (n int, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM datasources WHERE status IN ('unsynched', 'pending', 'running')`).Scan(&n)
	return n, err
}

// left out is what a start makes anew.
var leftOut = map[string]bool{"lock": true, "pid": true, "cache": true, "tmp": true, "operator.json": true}

func pack(dir, out string) (size int64, err error) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return 0, err
	}
	w := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case leftOut[name] && e.IsDir():
			return fs.SkipDir
		case leftOut[name] || name == ".":
			return nil
		}
		h := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Typeflag: tar.TypeReg}
		if e.IsDir() {
			h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o700, h.Name+"/"
			return w.WriteHeader(h)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h.Size = int64(len(content))
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		return 0, err
	}
	return int64(b.Len()), os.WriteFile(out, b.Bytes(), 0o600)
}
