package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/client"
)

// Maximum length of a custom id in characters. Matches the service's limit.
const maxCustomID = 200

// skippedExtensions lists extensions of files without text. Such files are skipped in folders.
var skippedExtensions = func() map[string]bool {
	all := map[string]bool{}
	for _, ending := range strings.Fields(`gif ico bmp psd mp3 mp4 m4a mov avi mkv wav flac ogg webm
		gz tgz bz2 xz 7z rar tar zst jar exe dll so dylib o a class pyc wasm bin iso img dmg deb rpm woff woff2 ttf otf eot db sqlite`) {
		all["."+ending] = true
	}
	return all
}()

// pictureExtensions lists image extensions. Some images are scans, but most images in folders aren't, so they are sent
// only if a pattern names their extension.
var pictureExtensions = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".webp": true, ".tif": true, ".tiff": true}

// archiveExtension is the extension of archives. Like images, archives in folders are sent only if a pattern names
// their extension, because they often duplicate the folder's content.
const archiveExtension = ".zip"

// choice selects files in folders.
type choice struct {
	include, exclude []*regexp.Regexp
	patterns         []string // the include patterns
}

func newChoice(include, exclude []string) choice {
	c := choice{patterns: include}
	for _, p := range include {
		c.include = append(c.include, globRegexp(p))
	}
	for _, p := range exclude {
		c.exclude = append(c.exclude, globRegexp(p))
	}
	return c
}

// includes reports whether a file is selected. Patterns may match its name or its path relative to the folder
// (`below`).
func (c choice) includes(below string) bool {
	matches := func(patterns []*regexp.Regexp) bool {
		for _, p := range patterns {
			if p.MatchString(below) || p.MatchString(below[strings.LastIndex(below, "/")+1:]) {
				return true
			}
		}
		return false
	}
	return !matches(c.exclude) && (len(c.include) == 0 || matches(c.include))
}

func (c choice) names(extension string) bool {
	return slices.ContainsFunc(c.patterns, func(p string) bool { return strings.EqualFold(filepath.Ext(p), extension) })
}

// globRegexp converts a pattern to a regular expression: * matches anything except /, ** matches anything, ? matches
// one character, and [a-z] matches one character in that range.
func globRegexp(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[' && strings.Contains(pattern[i+1:], "]"):
			end := i + 1 + strings.Index(pattern[i+1:], "]")
			class := strings.ReplaceAll(strings.ReplaceAll(pattern[i+1:end], `\`, ``), "[", `\[`)
			if strings.HasPrefix(class, "!") {
				class = "^" + class[1:]
			}
			if re, err := regexp.Compile("[" + class + "]"); err == nil {
				b.WriteString(re.String())
			} else {
				b.WriteString(regexp.QuoteMeta(pattern[i : end+1]))
			}
			i = end
		default:
			r, size := utf8.DecodeRuneInString(pattern[i:])
			if r == utf8.RuneError && size == 1 {
				b.WriteString(".") // invalid UTF-8
			} else {
				b.WriteString(regexp.QuoteMeta(string(r)))
			}
			i += size - 1
		}
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return regexp.MustCompile("^" + regexp.QuoteMeta(pattern) + "$")
	}
	return re
}

func isAddress(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// page returns a document that the service fetches.
func page(address string, site bool, config client.DatasourceConfigCreate) (*document, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, Misusedf("%q is not a web address", address)
	}
	d := &document{name: address, kind: client.DatasourceTypeWebPage, key: address}
	create := client.DatasourceCreate{
		Type: client.DatasourceCreateTypeWebPage, Config: &client.DatasourceConfigCreate{SourceUrl: &address, Refresh: config.Refresh},
	}
	if site {
		create.Type, d.kind = client.DatasourceCreateTypeWebSite, client.DatasourceTypeWebSite
		config.SourceUrl = &address
		if isSitemap(u) {
			config.SourceUrl, config.Sitemap = nil, &address
		}
		d.key = siteKey(valueOf(config.SourceUrl), valueOf(config.Sitemap))
		create.Config = &config
	}
	d.create = &create
	return d, nil
}

// isSitemap reports whether the address looks like a sitemap's.
func isSitemap(u *url.URL) bool {
	name := strings.ToLower(u.Path[strings.LastIndex(u.Path, "/")+1:])
	return strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".xml") && strings.Contains(name, "sitemap")
}

// file returns the document for a local file. The custom id is the path as given, so the next run recognises the file.
func file(path string, found bool, metadata map[string]any) *document {
	return &document{
		name: path, kind: client.DatasourceTypeFile, key: customID(filepath.ToSlash(filepath.Clean(path))), path: path,
		found: found, metadata: metadata,
	}
}

// customID converts an id to one that the service accepts.
func customID(id string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(id, "_"))
	if clean == id && utf8.RuneCountInString(id) <= maxCustomID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	r := []rune(clean)
	const digits = 16
	return string(r[max(0, len(r)-(maxCustomID-digits-1)):]) + "#" + hex.EncodeToString(sum[:])[:digits]
}

// skipFunc is called with each skipped file and the reason.
type skipFunc func(name, why string)

// folder iterates over the files below a folder, ordered by name. It skips hidden files and folders.
func folder(root string, c choice, metadata map[string]any, left skipFunc) iter.Seq2[*document, error] {
	return func(yield func(*document, error) bool) {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				if path != root && errors.Is(err, fs.ErrNotExist) {
					return nil // deleted in the meantime
				}
				return err
			}
			if isHidden(root, path) {
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			d, err := fileIn(root, path, entry, c, metadata, left)
			if err != nil || d == nil {
				return err
			}
			if !yield(d, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

func isHidden(root, path string) bool {
	return path != root && strings.HasPrefix(filepath.Base(path), ".")
}

// fileIn returns the document for a file in a folder, or nil if the file should be skipped.
func fileIn(root, path string, entry fs.DirEntry, c choice, metadata map[string]any, left skipFunc) (*document, error) {
	if entry.IsDir() {
		return nil, nil
	}
	below, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	if !c.includes(filepath.ToSlash(below)) {
		return nil, nil
	}
	extension := strings.ToLower(filepath.Ext(path))
	info, err := os.Stat(path) // follows links
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		left(path, "symbolic link to a folder: name the folder to add it")
	case !info.Mode().IsRegular():
		left(path, "not a regular file")
	case info.Size() == 0:
		left(path, "the file is empty")
	case skippedExtensions[extension]:
		left(path, "unsupported file type")
	case pictureExtensions[extension] && !c.names(extension):
		left(path, "a picture: to read it as a scan, name the file itself or use the pattern **/*"+extension)
	case extension == archiveExtension && !c.names(extension):
		left(path, "an archive: to add its files, name the archive itself or use the pattern **/*"+extension)
	default:
		return file(path, true, metadata), nil
	}
	return nil, nil
}

// sourceFlags holds the parsed flags for files, folders and addresses.
type sourceFlags struct {
	site     bool
	config   client.DatasourceConfigCreate
	choice   choice
	metadata map[string]any
}

// documents iterates over the documents named by the arguments: files, folders, patterns and addresses.
func (f sourceFlags) documents(args []string, left skipFunc) iter.Seq2[*document, error] {
	return func(yield func(*document, error) bool) {
		for _, arg := range args {
			for d, err := range f.documentsOf(arg, left) {
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

func (f sourceFlags) documentsOf(arg string, left skipFunc) iter.Seq2[*document, error] {
	single := func(d *document, err error) iter.Seq2[*document, error] {
		return func(yield func(*document, error) bool) { yield(d, err) }
	}
	if isAddress(arg) {
		return single(page(arg, f.site, f.config))
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return folder(arg, f.choice, f.metadata, left)
	case err == nil:
		return single(file(arg, false, f.metadata), nil)
	case errors.Is(err, fs.ErrNotExist) && isPattern(arg):
		return f.filesMatching(arg, left)
	case errors.Is(err, fs.ErrNotExist):
		return single(nil, noSuchFile(arg))
	default:
		return single(nil, err)
	}
}

func isPattern(arg string) bool { return strings.ContainsAny(arg, "*?[") }

func noSuchFile(arg string) error {
	return WithExit(NotFound, fmt.Errorf("file or folder %q does not exist; web addresses begin with https://", arg))
}

// filesMatching iterates over files that match a pattern, in case the shell has not expanded the pattern.
func (f sourceFlags) filesMatching(pattern string, left skipFunc) iter.Seq2[*document, error] {
	slashed := filepath.ToSlash(pattern)
	fixed := slashed[:strings.IndexAny(slashed, "*?[")]
	root := "."
	if i := strings.LastIndex(fixed, "/"); i >= 0 {
		root = slashed[:max(i, 1)]
	}
	chosen := f.choice
	chosen.patterns = append(slices.Clone(chosen.patterns), pattern)
	re := globRegexp(filepath.ToSlash(filepath.Clean(pattern)))
	matches := func(path string) bool { return re.MatchString(filepath.ToSlash(filepath.Clean(path))) }
	return func(yield func(*document, error) bool) {
		n := 0
		// Only files that match the pattern count as skipped.
		leftOut := func(name, why string) {
			if matches(name) {
				n++
				left(name, why)
			}
		}
		for d, err := range folder(root, chosen, f.metadata, leftOut) {
			if n == 0 && errors.Is(err, fs.ErrNotExist) {
				break // if the folder does not exist, nothing matches
			}
			if err == nil && !matches(d.path) {
				continue
			}
			n++
			if !yield(d, err) || err != nil {
				return
			}
		}
		if n == 0 {
			yield(nil, WithExit(NotFound, fmt.Errorf("no file matches %q", pattern)))
		}
	}
}

func singleUnits(docs iter.Seq2[*document, error]) iter.Seq2[[]*document, error] {
	return func(yield func([]*document, error) bool) {
		for d, err := range docs {
			if !yield([]*document{d}, err) || err != nil {
				return
			}
		}
	}
}
