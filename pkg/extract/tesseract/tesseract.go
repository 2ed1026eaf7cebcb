// Package tesseract runs the OCR program Tesseract in a process with restricted privileges. Only package extract
// imports it.
package tesseract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/sandbox"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// Limits per run. An ordinary page takes three seconds and 250 MiB.
const (
	maxMemory  = 2 << 30 // address space, in bytes
	maxCPU     = time.Minute
	maxElapsed = 5 * time.Minute // longer than maxCPU, because the program has low priority
	maxOutput  = 16 << 20        // hOCR of a page, in bytes
	// maxLanguages is the maximum number of languages to try on a page. Each one adds to the running time.
	maxLanguages = 6
)

// Off is the setting that disables OCR.
const Off = "off"

// Program runs the installed Tesseract. It is safe for concurrent use.
type Program struct {
	path    string // "" if there is none
	missing string // why there is none, for users
	data    string // folder with language models, from the environment; "" for Tesseract's own

	mu        sync.Mutex
	version   string // "" until Check has succeeded
	languages []string
}

// Find returns the program at the path `setting`, or tesseract from the PATH if `setting` is "". If `setting` is Off or
// nothing is found, the result has no program, and Missing says why.
func Find(setting string) *Program {
	p := &Program{data: os.Getenv("TESSDATA_PREFIX")}
	switch setting {
	case Off:
		p.missing = "text recognition is turned off on the machine that processes documents (SLUICE_TESSERACT=off)"
		return p
	case "":
		setting = "tesseract"
		p.missing = format.NoOCR
	default:
		p.missing = fmt.Sprintf("Tesseract was not found at %s on the machine that processes documents (SLUICE_TESSERACT)", setting)
	}
	path, err := exec.LookPath(setting)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path) // the process gets rights to the file itself
	}
	if err == nil {
		p.path, p.missing = path, ""
	}
	return p
}

// Path returns the program's path, or "" if there is none.
func (p *Program) Path() string { return p.path }

// Missing says, for users, why text can't be recognised. It returns "" if the program is installed.
func (p *Program) Missing() string { return p.missing }

// Check returns the program's version and its installed languages, without orientation models. It runs the program
// unless an earlier call succeeded.
func (p *Program) Check(ctx context.Context) (version string, languages []string, err error) {
	if p.path == "" {
		return "", nil, errors.New(p.missing)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version == "" {
		if err := p.learn(ctx); err != nil {
			return "", nil, fmt.Errorf("%s does not work: %w", p.path, err)
		}
	}
	return p.version, slices.DeleteFunc(slices.Clone(p.languages), func(l string) bool { return !isLanguage(l) }), nil
}

// learn queries the program for its version and languages. The caller must hold mu.
func (p *Program) learn(ctx context.Context) error {
	out, err := p.run(ctx, nil, "--version")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(out), "\n")
	version := strings.TrimPrefix(strings.TrimSpace(first), "tesseract ")
	if version == "" || len(version) > maxVersion {
		return errors.New("it does not report its version")
	}
	if out, err = p.run(ctx, nil, "--list-langs"); err != nil {
		return err
	}
	if p.languages = parseLanguages(string(out)); !slices.ContainsFunc(p.languages, isLanguage) {
		return errors.New("it has no language data; install some, for example the tesseract-ocr-eng package")
	}
	p.version = version
	return nil
}

// maxVersion is the maximum length of the program's version string in bytes.
const maxVersion = 100

// knowsOrientation reports whether the orientation model is installed. Check must have succeeded before.
func (p *Program) knowsOrientation() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.languages, orientation)
}

// parseLanguages reads the output of --list-langs, which has a title and then one language per line.
func parseLanguages(out string) []string {
	var languages []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); domain.IsOCRLanguage(line) {
			languages = append(languages, line)
		}
	}
	return languages
}

// orientation is the model that finds a page's orientation and script.
const orientation = "osd"

// isLanguage reports whether a model recognises text in a language.
func isLanguage(name string) bool { return name != orientation && name != "equ" }

func (p *Program) run(ctx context.Context, picture *os.File, args ...string) ([]byte, error) {
	env := []string{"OMP_THREAD_LIMIT=1", "LC_ALL=C.UTF-8"}
	var files []string
	if p.data != "" {
		env, files = append(env, "TESSDATA_PREFIX="+p.data), append(files, p.data)
	}
	return sandbox.Run(ctx, sandbox.Program{
		Path: p.path, Args: args, Env: env, Files: files, Dir: string(filepath.Separator),
		Memory: maxMemory, CPU: maxCPU, Timeout: maxElapsed, MaxOutput: maxOutput,
	}, picture)
}

// Page recognises the text in a page's picture, after rewinding the file.
func (p *Program) Page(ctx context.Context, picture *os.File, languages []string) (scan.Page, error) {
	if _, err := picture.Seek(0, 0); err != nil {
		return scan.Page{}, fmt.Errorf("reading the page image: %w", err)
	}
	out, err := p.run(ctx, picture, "stdin", "stdout", "-l", strings.Join(languages, "+"), "--dpi", strconv.Itoa(format.ScanResolution), "--psm", "3", "hocr")
	if err != nil {
		return scan.Page{}, err
	}
	return scan.ParseHOCR(bytes.NewReader(out))
}

// Layout is a page's orientation and script.
type Layout struct {
	Turn       int     // clockwise quarter turns that make the page upright
	Confidence float64 // confidence in Turn; from about 1, Turn is usually correct
	Script     string  // "Latin", "Cyrillic", …; "" if unknown
}

// Layout determines a page's orientation and script, after rewinding the file. It returns the zero value if it can't,
// for example if there is too little text.
func (p *Program) Layout(ctx context.Context, picture *os.File) (Layout, error) {
	if !p.knowsOrientation() {
		return Layout{}, nil
	}
	if _, err := picture.Seek(0, 0); err != nil {
		return Layout{}, fmt.Errorf("reading the page image: %w", err)
	}
	out, err := p.run(ctx, picture, "stdin", "stdout", "-l", orientation, "--dpi", strconv.Itoa(format.ScanResolution), "--psm", "0")
	if err != nil {
		return Layout{}, ctx.Err() // fails on pages with too few characters
	}
	return parseLayout(string(out)), nil
}

// parseLayout reads lines such as "Rotate: 90".
func parseLayout(out string) Layout {
	var l Layout
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "Rotate":
			if degrees, err := strconv.Atoi(value); err == nil && degrees%90 == 0 {
				l.Turn = ((degrees/90)%4 + 4) % 4
			}
		case "Orientation confidence":
			l.Confidence, _ = strconv.ParseFloat(value, 64) // 0 if it is not a number
		case "Script":
			if len(value) < 64 {
				l.Script = value
			}
		}
	}
	return l
}
