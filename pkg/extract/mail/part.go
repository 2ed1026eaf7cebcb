package mail

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"path"
	"strings"

	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

// mimePart is a message or one of its parts, with the body still encoded.
type mimePart struct {
	header textproto.MIMEHeader
	body   []byte
}

// mediaType returns the part's media type and its parameters, or text/plain if the type is missing or malformed.
func (p mimePart) mediaType() (string, map[string]string) {
	value := p.header.Get("Content-Type")
	t, params, err := mime.ParseMediaType(value)
	if err != nil && t == "" {
		t, _, _ = strings.Cut(value, ";")
		t, params = strings.ToLower(strings.TrimSpace(t)), map[string]string{}
		if _, boundary, ok := strings.Cut(value, "boundary="); ok {
			boundary, _, _ = strings.Cut(boundary, ";")
			params["boundary"] = strings.Trim(strings.TrimSpace(boundary), `"`)
		}
	}
	if !strings.Contains(t, "/") {
		return format.TypeText, params
	}
	return t, params
}

func (p mimePart) attached() bool {
	disposition, _, _ := strings.Cut(p.header.Get("Content-Disposition"), ";")
	return strings.EqualFold(strings.TrimSpace(disposition), "attachment")
}

// name returns the part's file name. It is "" for inline pictures and unnamed parts.
func (p mimePart) name() string {
	mediaType, params := p.mediaType()
	_, disposition, err := mime.ParseMediaType(p.header.Get("Content-Disposition"))
	if err != nil {
		disposition = nil
	}
	name := cmp.Or(disposition["filename"], params["name"])
	if !p.attached() && (strings.HasPrefix(mediaType, "image/") || strings.HasSuffix(mediaType, "-signature") || mediaType == "text/calendar") {
		return ""
	}
	if name == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(decodeHeader(name), `\`, "/"))
}

// split splits a multipart body into its parts. If the body is damaged, it returns the parts before the damage.
func (m *reader) split(part mimePart) []mimePart {
	mediaType, params := part.mediaType()
	if params["boundary"] == "" {
		m.p.Out.Warn("the message does not name the boundary between its parts; it was read as plain text")
		return []mimePart{{header: textproto.MIMEHeader{}, body: part.body}}
	}
	var parts []mimePart
	r := multipart.NewReader(bytes.NewReader(part.body), params["boundary"])
	for {
		next, err := r.NextRawPart()
		if err != nil {
			if !errors.Is(err, io.EOF) || len(parts) == 0 {
				m.p.Out.Warn("the message is damaged; only the parts before the damage were read")
			}
			return parts
		}
		if m.parts++; m.parts > maxMailParts {
			if !m.exceeded {
				m.exceeded = true
				m.p.Out.Warn("the message has too many parts; the rest were skipped")
			}
			return parts
		}
		// The body is in memory, so the only possible error is a missing end.
		body, _ := io.ReadAll(next)
		header := next.Header
		if mediaType == "multipart/digest" && header.Get("Content-Type") == "" {
			header.Set("Content-Type", "message/rfc822")
		}
		parts = append(parts, mimePart{header: header, body: body})
	}
}

// root returns the main part of a multipart/related body, such as a web archive's page: the part named by the start
// parameter or, failing that, the first HTML part or, failing that, the first text part. It returns nil if there is
// none.
func (m *reader) root(part mimePart, nesting int) (*mimePart, error) {
	mediaType, params := part.mediaType()
	switch {
	case mediaType == format.TypeText || part.isPage():
		return &part, nil
	case !strings.HasPrefix(mediaType, "multipart/") || nesting > maxMultiparts:
		return nil, nil
	}
	if err := m.p.Ctx.Err(); err != nil {
		return nil, err
	}
	var first *mimePart
	for _, child := range m.split(part) {
		found, err := m.root(child, nesting+1)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if start := params["start"]; start != "" && child.header.Get("Content-Id") == start {
			return found, nil
		}
		if first == nil || found.isPage() && !first.isPage() {
			first = found
		}
	}
	return first, nil
}

func (p mimePart) isPage() bool {
	mediaType, _ := p.mediaType()
	return mediaType == format.TypeHTML || mediaType == "application/xhtml+xml"
}

// decode returns the part's body after undoing its transfer encoding.
func (m *reader) decode(part mimePart) ([]byte, error) {
	content := part.body
	switch strings.ToLower(strings.TrimSpace(part.header.Get("Content-Transfer-Encoding"))) {
	case "base64":
		content = charset.DecodeBase64(content)
	case "quoted-printable":
		content = decodeQuotedPrintable(content)
	}
	if m.left -= int64(len(content)); m.left < 0 {
		return nil, format.Errorf(format.TooLarge, "the parts of the message have more than %s in total", format.SizeText(m.p.Lim.MaxUnpacked))
	}
	return content, nil
}

// decodeQuotedPrintable decodes quoted-printable text. Unlike the standard library's reader, it doesn't fail on
// malformed escapes but keeps them as they are.
func decodeQuotedPrintable(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '=' {
			out = append(out, data[i])
			continue
		}
		rest := data[i+1:]
		end := len(rest) - len(bytes.TrimLeft(rest, " \t"))
		switch {
		case len(rest) >= 2 && unhex(rest[0]) >= 0 && unhex(rest[1]) >= 0:
			out = append(out, byte(unhex(rest[0])<<4|unhex(rest[1])))
			i += 2
		case bytes.HasPrefix(rest[end:], []byte("\r\n")):
			i += end + 2
		case bytes.HasPrefix(rest[end:], []byte("\n")):
			i += end + 1
		case end == len(rest):
			i = len(data)
		default:
			out = append(out, '=')
		}
	}
	return out
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
