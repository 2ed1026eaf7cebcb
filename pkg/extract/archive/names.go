package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/lists"
)

// maxNameSample is the maximum total size, in bytes, of the names used to guess their encoding.
const maxNameSample = 64 << 10

// decodeNames returns the files' names in UTF-8. Names that aren't valid UTF-8 are in the code page of the machine that
// created the archive. All names in an archive use the same code page, so it is guessed from all of them together.
func decodeNames(files []*zip.File) []string {
	var sample bytes.Buffer
	names := lists.Map(files, func(f *zip.File) string {
		if utf8.ValidString(f.Name) {
			return f.Name
		}
		if name := unicodeName(f); name != "" {
			return name
		}
		if sample.Len() < maxNameSample {
			sample.WriteString(f.Name + "\n")
		}
		return f.Name
	})
	if sample.Len() == 0 {
		return names
	}
	codePage := charset.GuessCharset(sample.Bytes())
	return lists.Map(names, func(name string) string {
		if utf8.ValidString(name) {
			return name
		}
		text, _ := charset.DecodeWith([]byte(name), codePage)
		return text
	})
}

// Extra field with the UTF-8 name (APPNOTE.TXT, section 4.6.9): version, CRC-32 of the header's name, name.
const (
	unicodePathID   = 0x7075
	unicodePathHead = 1 + 4
)

// unicodeName returns the name in the extra field, or "" if there is none or it belongs to another name.
func unicodeName(f *zip.File) string {
	le := binary.LittleEndian
	for extra := f.Extra; len(extra) >= 4; {
		id, size := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; size > len(extra) {
			return ""
		}
		field := extra[:size]
		extra = extra[size:]
		if id != unicodePathID || size <= unicodePathHead || field[0] != 1 || le.Uint32(field[1:]) != crc32.ChecksumIEEE([]byte(f.Name)) {
			continue
		}
		if name := field[unicodePathHead:]; utf8.Valid(name) {
			return string(name)
		}
	}
	return ""
}

// cleanPath returns a relative path with slashes, without control characters or characters that change text direction.
// Drive letters are dropped, and ".." elements can't lead outside the archive. The result is "" if nothing is left.
func cleanPath(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, name)
	if len(name) >= 2 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z') {
		name = name[2:]
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

func isFolder(f *zip.File, name string) bool {
	return strings.HasSuffix(name, "/") || strings.HasSuffix(name, `\`) || f.Mode().IsDir()
}

// isSystemFile reports whether the file was added by an operating system and isn't content.
func isSystemFile(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || strings.HasPrefix(base, "._") || base == ".DS_Store" ||
		strings.EqualFold(base, "thumbs.db") || strings.EqualFold(base, "desktop.ini")
}

// isHidden reports whether the file or one of its folders is hidden.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}
