package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

	"github.com/sluice/sluice/pkg/extract/archive"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/lists"
)

var limits = archive.Limits{Files: 100, Unpacked: 10 << 20, File: 1 << 20}

// entry is an entry of a test archive.
type entry struct {
	zip.FileHeader
	content string
	raw     bool // the header's sizes and checksum are written as they are
}

func file(name, content string) entry {
	return entry{FileHeader: zip.FileHeader{Name: name, Method: zip.Deflate}, content: content}
}

// packed returns an archive of the entries.
func packed(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		create := z.CreateHeader
		if e.raw {
			create = z.CreateRaw
		}
		w, err := create(&e.FileHeader)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t testing.TB, data []byte, lim archive.Limits) *archive.Archive {
	t.Helper()
	a, err := archive.Open(bytes.NewReader(data), int64(len(data)), lim)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func paths(a *archive.Archive) []string {
	return lists.Map(a.Files, func(f archive.File) string { return f.Path })
}

func read(f archive.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	return string(content), err
}

func TestFilesAreReadUnderCleanPaths(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"docs/a.txt":              "docs/a.txt",
		"/etc/passwd":             "etc/passwd",
		"../../etc/passwd":        "etc/passwd",
		"a/../../b.txt":           "b.txt",
		"a//b/./c.txt":            "a/b/c.txt",
		`docs\sub\a.txt`:          "docs/sub/a.txt",
		`C:\Users\a.txt`:          "Users/a.txt",
		"c:a.txt":                 "a.txt",
		"line\nbreak\u202e.txt":   "linebreak.txt",
		"Prüfung/日本.txt":          "Prüfung/日本.txt",
		"a file with spaces .txt": "a file with spaces .txt",
		"1:2.txt":                 "1:2.txt",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			a := open(t, packed(t, file(name, "content")), limits)
			if diff := cmp.Diff([]string{want}, paths(a)); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", name, diff)
			}
			if text, err := read(a.Files[0]); text != "content" || err != nil || a.Files[0].Size != 7 {
				t.Errorf("the content is %q, %v", text, err)
			}
		})
	}
}

func TestNamesInOldCodePagesAreDecoded(t *testing.T) {
	t.Parallel()
	for code, names := range map[string][]string{
		"cp437":     {"Übersicht über Verträge.txt", "Prüfung/Maße und Größen.txt"},
		"cp866":     {"Договор поставки оборудования.txt", "Отчёт/Список сотрудников.txt"},
		"shift_jis": {"契約書の一覧.txt", "資料/取扱説明書.txt"},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			encoder := map[string]interface{ String(string) (string, error) }{
				"cp437": charmap.CodePage437.NewEncoder(), "cp866": charmap.CodePage866.NewEncoder(), "shift_jis": japanese.ShiftJIS.NewEncoder(),
			}[code]
			var entries []entry
			for _, name := range names {
				raw, err := encoder.String(name)
				if err != nil {
					t.Fatal(err)
				}
				e := file(raw, "content")
				e.NonUTF8 = true
				entries = append(entries, e)
			}
			if diff := cmp.Diff(names, paths(open(t, packed(t, entries...), limits))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheUnicodePathFieldHasTheName(t *testing.T) {
	t.Parallel()
	field := func(header, name string) []byte {
		extra := binary.LittleEndian.AppendUint16([]byte{0x75, 0x70}, uint16(5+len(name)))
		extra = binary.LittleEndian.AppendUint32(append(extra, 1), crc32.ChecksumIEEE([]byte(header)))
		return append(extra, name...)
	}
	own, foreign := file("\x81.txt", "a"), file("\xfc.txt", "b")
	own.NonUTF8, foreign.NonUTF8 = true, true
	own.Extra, foreign.Extra = field(own.Name, "список.txt"), field("another name", "wrong.txt")
	if diff := cmp.Diff([]string{"список.txt", "ü.txt"}, paths(open(t, packed(t, own, foreign), limits))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilesAreLeftOutForAReason(t *testing.T) {
	t.Parallel()
	link := file("link", "a.txt")
	link.SetMode(fs.ModeSymlink | 0o777)
	folder := file("folder/", "")
	encrypted := entry{FileHeader: zip.FileHeader{Name: "secret.txt", Method: zip.Store, Flags: 1, UncompressedSize64: 3, CompressedSize64: 3}, content: "xyz", raw: true}
	lzma := entry{FileHeader: zip.FileHeader{Name: "lzma.txt", Method: 14, UncompressedSize64: 3, CompressedSize64: 3}, content: "xyz", raw: true}
	large := entry{FileHeader: zip.FileHeader{Name: "large.txt", Method: zip.Store, UncompressedSize64: 2 << 20, CompressedSize64: 3}, content: "xyz", raw: true}
	a := open(t, packed(t, file("a.txt", "a"), file("a.txt", "second"), file("b/../a.txt", "third"), folder, link, encrypted, lzma, large,
		file("empty.txt", ""), file(".env", "x"), file("src/.git/config", "x"), file(strings.Repeat("ä", 501), "x"),
		file("__MACOSX/._a.txt", "x"), file("docs/.DS_Store", "x"), file("docs/Thumbs.db", "x"), file("._b.txt", "x"), file("..", "x")), limits)
	if diff := cmp.Diff([]string{"a.txt"}, paths(a)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if text, err := read(a.Files[0]); text != "a" || err != nil {
		t.Errorf("of several files with one path, %q was read, %v", text, err)
	}
	want := map[string]int{
		"another file has the same path": 2, "a link or a special file": 1, "encrypted": 1, "compressed with an unsupported method": 1,
		"larger than 1 MiB": 1, "empty": 1, "hidden": 2, "the path has more than 500 characters": 1,
	}
	if diff := cmp.Diff(want, a.LeftOut.Counts()); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	warnings := a.LeftOut.Warnings()
	if len(warnings) != 7 || warnings[0] != "2 files were left out: another file has the same path (for example a.txt)" || warnings[1] != "1 file was left out: a link or a special file (link)" {
		t.Errorf("warnings %q", warnings)
	}
}

func TestLimitsHoldForTheWholeArchive(t *testing.T) {
	t.Parallel()
	data := packed(t, file("a.txt", strings.Repeat("a", 600)), file("b.txt", strings.Repeat("b", 600)), file("c.txt", "c"), file("d.txt", "d"))
	a := open(t, data, archive.Limits{Files: 2, Unpacked: 1000, File: 1000})
	if diff := cmp.Diff([]string{"a.txt", "c.txt"}, paths(a)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"the limit is 1000 bytes per archive": 1, "the limit is 2 files per archive": 1}, a.LeftOut.Counts()); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

func TestHostileArchivesAreRejected(t *testing.T) {
	t.Parallel()
	bomb := make([]entry, 300)
	for i := range bomb { // each declares 1 MiB, and has a few bytes
		bomb[i] = entry{FileHeader: zip.FileHeader{Name: strings.Repeat("x", i+1), Method: zip.Deflate, UncompressedSize64: 1 << 20, CompressedSize64: 3}, content: "xyz", raw: true}
	}
	huge := entry{FileHeader: zip.FileHeader{Name: "huge", Method: zip.Deflate, UncompressedSize64: 1<<64 - 1, CompressedSize64: 3}, content: "xyz", raw: true}
	many := make([]entry, 60_000)
	for i := range many {
		many[i] = entry{FileHeader: zip.FileHeader{Name: "x", Method: zip.Store}, raw: true}
	}
	whole := packed(t, file("a.txt", strings.Repeat("content ", 100)))
	for name, c := range map[string]struct {
		data []byte
		kind format.Kind
	}{
		"a bomb":                  {packed(t, bomb...), format.TooLarge},
		"sizes that overflow":     {packed(t, huge, huge), format.TooLarge},
		"a directory without end": {packed(t, many...), format.TooLarge},
		"a truncated archive":     {whole[:len(whole)-30], format.Damaged},
		"text":                    {[]byte("PK\x03\x04 is how archives begin"), format.Damaged},
		"nothing":                 {nil, format.Damaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := archive.Open(bytes.NewReader(c.data), int64(len(c.data)), limits); format.KindOf(err) != c.kind {
				t.Errorf("error %v, want one of kind %s", err, c.kind)
			}
		})
	}
}

func TestContentThatContradictsTheDirectoryIsAnError(t *testing.T) {
	t.Parallel()
	text := "the content of the file"
	header := func(size uint64, sum uint32) zip.FileHeader {
		return zip.FileHeader{Name: "a.txt", Method: zip.Store, UncompressedSize64: size, CompressedSize64: uint64(len(text)), CRC32: sum}
	}
	sum := crc32.ChecksumIEEE([]byte(text))
	for name, h := range map[string]zip.FileHeader{
		"longer than declared":  header(5, sum),
		"shorter than declared": header(1000, sum),
		"another checksum":      header(uint64(len(text)), sum+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, packed(t, entry{FileHeader: h, content: text, raw: true}), limits)
			if got, err := read(a.Files[0]); err == nil {
				t.Errorf("it is read as %q", got)
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	link := file("link", "a.txt")
	link.SetMode(fs.ModeSymlink | 0o777)
	f.Add(packed(f, file("docs/a.txt", strings.Repeat("content ", 50)), file(`..\b.txt`, "b"), link))
	f.Add(packed(f, file("\x81\x82.txt", "a"), file("__MACOSX/._a", "b"), file("folder/", "")))
	f.Add(packed(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		lim := archive.Limits{Files: 10, Unpacked: 1 << 20, File: 1 << 18}
		a, err := archive.Open(bytes.NewReader(data), int64(len(data)), lim)
		if err != nil {
			if format.KindOf(err) == "" {
				t.Fatalf("an error without a kind: %v", err)
			}
			return
		}
		if len(a.Files) > lim.Files {
			t.Fatalf("%d files", len(a.Files))
		}
		seen, total := map[string]bool{}, int64(0)
		for _, file := range a.Files {
			if seen[file.Path] || !fs.ValidPath(file.Path) {
				t.Fatalf("path %q", file.Path)
			}
			seen[file.Path] = true
			text, err := read(file)
			if total += int64(len(text)); int64(len(text)) > file.Size || total > lim.Unpacked || err == nil && int64(len(text)) != file.Size {
				t.Fatalf("%q has %d bytes, not %d, %v", file.Path, len(text), file.Size, err)
			}
		}
	})
}
