package outlook

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/richardlehane/mscfb"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

// propertiesStream is the name of the stream that contains fixed-size properties.
const propertiesStream = "__properties_version1.0"

// Header sizes of property streams in bytes.
const (
	topHeader      = 32 // of the message
	embeddedHeader = 24 // of an attached message
	partHeader     = 8  // of a recipient or an attachment
)

// Property identifiers (MS-OXPROPS).
const (
	tagClass             = 0x001a
	tagSubject           = 0x0037
	tagSubmitted         = 0x0039
	tagRepresentingName  = 0x0042
	tagRepresentingEmail = 0x0065
	tagRecipientType     = 0x0c15
	tagSenderName        = 0x0c1a
	tagSenderEmail       = 0x0c1f
	tagDisplayCc         = 0x0e03
	tagDisplayTo         = 0x0e04
	tagDelivered         = 0x0e06
	tagBody              = 0x1000
	tagRTF               = 0x1009
	tagHTML              = 0x1013
	tagDisplayName       = 0x3001
	tagEmail             = 0x3003
	tagCreated           = 0x3007
	tagData              = 0x3701
	tagShortName         = 0x3704
	tagLongName          = 0x3707
	tagMIME              = 0x370e
	tagContentID         = 0x3712
	tagSMTP              = 0x39fe
	tagInternetCodePage  = 0x3fde
	tagCodePage          = 0x3ffd
	tagSenderSMTP        = 0x5d01
	tagRepresentingSMTP  = 0x5d02
	tagHidden            = 0x7ffe
)

// Property types.
const (
	typeNarrow = 0x001e // text in the message's code page
	typeWide   = 0x001f // text in UTF-16
	typeTime   = 0x0040
	typeBinary = 0x0102
)

// properties holds a message's, recipient's or attachment's MAPI properties.
type properties struct {
	fixed   map[uint32]uint64 // fixed-size values by identifier and type
	values  map[uint32][]byte // other values
	codes   string            // encoding of narrow texts; "" if unknown
	htmlTag string            // encoding of the HTML; "" if unknown
}

// streamed contains the identifiers of values read from streams.
var streamed = map[uint32]bool{
	tagClass: true, tagSubject: true, tagRepresentingName: true, tagRepresentingEmail: true, tagSenderName: true, tagSenderEmail: true, tagDisplayCc: true,
	tagDisplayTo: true, tagBody: true, tagRTF: true, tagHTML: true, tagDisplayName: true, tagEmail: true, tagData: true, tagShortName: true, tagLongName: true,
	tagMIME: true, tagContentID: true, tagSMTP: true, tagSenderSMTP: true, tagRepresentingSMTP: true,
}

// properties reads the properties in a storage. `header` is the size of its property stream's header. Recipients and
// attachments use the text encoding of `message`, the message they belong to.
func (c *converter) properties(s *storage, header int, message *properties) (*properties, error) {
	m := &properties{fixed: map[uint32]uint64{}, values: map[uint32][]byte{}}
	if f := s.streams[propertiesStream]; f != nil {
		data, err := c.stream(f)
		if err != nil {
			return nil, err
		}
		for at := header; at+16 <= len(data); at += 16 {
			m.fixed[binary.LittleEndian.Uint32(data[at:])] = binary.LittleEndian.Uint64(data[at+8:])
		}
	}
	for name, f := range s.streams {
		var id, kind uint32
		if n, err := fmt.Sscanf(name, "__substg1.0_%04x%04x", &id, &kind); err != nil || n != 2 || !streamed[id] {
			continue
		}
		data, err := c.stream(f)
		if err != nil {
			return nil, err
		}
		m.values[id<<16|kind] = data
	}
	if page := int(m.number(tagInternetCodePage)); page != 0 {
		m.htmlTag = charset.CodePage(page)
	}
	m.codes = m.htmlTag
	if page := int(m.number(tagCodePage)); page != 0 {
		m.codes = charset.CodePage(page)
	}
	if message != nil {
		m.codes = message.codes
	}
	return m, nil
}

// stream reads a stream. If the file is damaged, it returns the bytes before the damage.
func (c *converter) stream(f *mscfb.File) ([]byte, error) {
	if f.Size <= 0 {
		return nil, nil
	}
	if f.Size > c.p.Src.Size {
		c.p.Out.Warn("the message is damaged; part of it was skipped")
		return nil, nil
	}
	if c.left -= f.Size; c.left < 0 {
		return nil, format.Errorf(format.TooLarge, "the parts of the message have more than %s in total", format.SizeText(c.p.Lim.MaxUnpacked))
	}
	const piece = 64 << 10 // the library's time is quadratic in the size of a read
	data := make([]byte, f.Size)
	for at := 0; at < len(data); {
		if err := c.p.Ctx.Err(); err != nil {
			return nil, err
		}
		n, err := f.Read(data[at:min(at+piece, len(data))])
		at += n
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			c.p.Out.Warn("the message is damaged; part of it was skipped")
			return data[:at], nil
		}
	}
	return data, nil
}

// child returns the storage with the given name, or nil.
func (s *storage) child(name string) *storage {
	for _, c := range s.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// text returns the value of a text property, or "" if it is missing.
func (m *properties) text(id uint32) string {
	if data, ok := m.values[id<<16|typeWide]; ok {
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(data[2*i:])
		}
		return strings.TrimRight(string(utf16.Decode(units)), "\x00")
	}
	if data, ok := m.values[id<<16|typeNarrow]; ok {
		text, _ := charset.Decode(data, m.codes)
		return strings.TrimRight(text, "\x00")
	}
	return ""
}

// smtp returns an Internet mail address, or "" if it is missing or from another mail system.
func (m *properties) smtp(id uint32) string {
	a := strings.TrimSpace(m.text(id))
	if !strings.Contains(a, "@") || strings.ContainsAny(a, " <>\"\r\n\t,;") || len(a) > 320 {
		return ""
	}
	return a
}

func (m *properties) binary(id uint32) []byte { return m.values[id<<16|typeBinary] }

// html returns a message's HTML body and the name of its encoding.
func (m *properties) html() (page []byte, label string) {
	if data := m.binary(tagHTML); data != nil {
		return data, m.htmlTag
	}
	return []byte(m.text(tagHTML)), "utf-8"
}

// refersTo reports whether a message's HTML shows the attachment with the given content id.
func (m *properties) refersTo(id string) bool {
	page, _ := m.html()
	return strings.Contains(string(page), "cid:"+id)
}

// number returns an integer or boolean property, or 0 if it is missing.
func (m *properties) number(id uint32) uint32 {
	for _, kind := range []uint32{0x0003, 0x000b} {
		if v, ok := m.fixed[id<<16|kind]; ok {
			return uint32(v)
		}
	}
	return 0
}

// time returns the first of the properties that holds a time, or the zero time.
func (m *properties) time(ids ...uint32) time.Time {
	const epoch = 116444736000000000 // 1970 in units of 100 nanoseconds since 1601
	for _, id := range ids {
		if v := m.fixed[id<<16|typeTime]; v > epoch && v < epoch+4e17 {
			return time.Unix(int64((v-epoch)/1e7), 0).UTC()
		}
	}
	return time.Time{}
}
