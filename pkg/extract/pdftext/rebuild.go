package pdftext

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
)

var (
	objectHead   = regexp.MustCompile(`(?:^|[\r\n\s>])(\d{1,8})[ \t\r\n]+(\d{1,5})[ \t\r\n]+obj\b`)
	rootEntry    = regexp.MustCompile(`/Root\s+(\d+)\s+(\d+)\s+R`)
	encryptEntry = regexp.MustCompile(`/Encrypt\s+\d+\s+\d+\s+R`)
	idEntry      = regexp.MustCompile(`/ID\s*\[\s*<[0-9A-Fa-f]*>\s*<[0-9A-Fa-f]*>\s*\]`)
	infoEntry    = regexp.MustCompile(`/Info\s+\d+\s+\d+\s+R`)
	catalogType  = regexp.MustCompile(`/Type\s*/Catalog\b`)
	objStmType   = regexp.MustCompile(`/Type\s*/ObjStm\b`)
	countEntry   = regexp.MustCompile(`/N\s+(\d+)`)
	firstEntry   = regexp.MustCompile(`/First\s+(\d+)`)
)

// HasContent reports whether the bytes hold what pages are made of: objects, and streams, in which all that a page shows
// and all packed objects lie. Where it is false, no reader can find text or pictures, whatever it repairs.
func HasContent(data []byte) bool {
	return bytes.Contains(data, []byte("stream")) && objectHead.Match(data)
}

// entry is where an object lies: at an offset, or at an index inside an object stream.
type entry struct {
	kind       byte // 1 offset, 2 in a stream
	at         uint32
	generation uint16 // or the index in the stream
}

// rebuild finds the objects of a file whose cross references are unusable, and returns the file with new ones
// appended.
func rebuild(data []byte) ([]byte, error) {
	if len(data) > 1<<31 {
		return nil, errors.New("the file is too large to be repaired")
	}
	entries := map[uint32]entry{}
	encrypted := encryptEntry.Match(data)
	root := ""
	if m := rootEntry.FindAllSubmatch(data, -1); m != nil {
		root = string(m[len(m)-1][0])
	}
	heads := objectHead.FindAllSubmatchIndex(data, maxXref)
	for i, h := range heads {
		num, gen := atoi(data[h[2]:h[3]]), atoi(data[h[4]:h[5]])
		entries[uint32(num)] = entry{1, uint32(h[2]), uint16(gen)}
		end := len(data)
		if i+1 < len(heads) {
			end = heads[i+1][2]
		}
		body := data[h[1]:end]
		dict := body[:min(len(body), 1024)]
		if j := bytes.Index(dict, []byte("stream")); j >= 0 {
			dict = dict[:j]
		}
		if root == "" && catalogType.Match(dict) {
			root = fmt.Sprintf("/Root %d %d R", num, gen)
		}
		if !encrypted && objStmType.Match(dict) {
			for j, id := range objectStream(body, dict) {
				if _, ok := entries[id]; !ok {
					entries[id] = entry{2, uint32(num), uint16(j)}
				}
			}
		}
	}
	if root == "" {
		return nil, errors.New("no document catalogue was found")
	}
	return appendXref(data, entries, root), nil
}

func atoi(b []byte) int {
	n, _ := strconv.Atoi(string(b)) // matched as digits; what overflows is no object
	return n
}

// objectStream lists the numbers of the objects in an object stream.
func objectStream(body, dict []byte) []uint32 {
	n, first := countEntry.FindSubmatch(dict), firstEntry.FindSubmatch(dict)
	at := bytes.Index(body, []byte("stream"))
	if n == nil || first == nil || at < 0 {
		return nil
	}
	raw := bytes.TrimLeft(body[at+len("stream"):], "\r\n")
	zr, err := zlib.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	head, _ := io.ReadAll(io.LimitReader(zr, int64(min(atoi(first[1]), 1<<20)))) // what can be read counts
	fields := bytes.Fields(head)
	var ids []uint32
	for i := 0; i+1 < len(fields) && len(ids) < atoi(n[1]); i += 2 {
		ids = append(ids, uint32(atoi(fields[i])))
	}
	return ids
}

// appendXref writes the entries as a cross reference stream, without compression, behind the file.
func appendXref(data []byte, entries map[uint32]entry, root string) []byte {
	nums := make([]uint32, 0, len(entries))
	for n := range entries {
		if n < maxXref {
			nums = append(nums, n)
		}
	}
	slices.Sort(nums)
	self := uint32(1)
	if len(nums) > 0 {
		self = nums[len(nums)-1] + 1
	}
	var body, index bytes.Buffer
	for i := 0; i < len(nums); {
		j := i
		for j < len(nums) && nums[j] == nums[i]+uint32(j-i) {
			e := entries[nums[j]]
			body.WriteByte(e.kind)
			body.Write(binary.BigEndian.AppendUint32(nil, e.at))
			body.Write(binary.BigEndian.AppendUint16(nil, e.generation))
			j++
		}
		fmt.Fprintf(&index, "%d %d ", nums[i], j-i)
		i = j
	}
	out := append(bytes.Clone(data), '\n')
	at := len(out)
	trailer := root
	for _, re := range []*regexp.Regexp{encryptEntry, idEntry, infoEntry} {
		if m := re.FindAll(data, -1); m != nil {
			trailer += " " + string(m[len(m)-1])
		}
	}
	out = fmt.Appendf(out, "%d 0 obj\n<< /Type /XRef /Size %d /W [1 4 2] /Index [%s] %s /Length %d >>\nstream\n",
		self, self+1, index.Bytes(), trailer, body.Len())
	out = append(out, body.Bytes()...)
	return fmt.Appendf(out, "\nendstream\nendobj\nstartxref\n%d\n%%%%EOF", at)
}
