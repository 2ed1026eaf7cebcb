// Package mail reads email messages with their attachments, and web pages saved as web archives (MHTML).
package mail

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"net/mail"
	"net/textproto"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/charset"
	"github.com/sluice/sluice/pkg/extract/format"
)

const (
	maxMailNesting = 4        // maximum nesting depth of messages and attachments
	maxMailParts   = 1000     // maximum number of parts in a message, including nested messages
	maxMultiparts  = 20       // maximum nesting depth of multipart bodies
	maxAttachments = 100      // maximum number of attachments to read
	maxMailHeader  = 64 << 10 // maximum size of a message's header in bytes; anything beyond is ignored
	maxAddresses   = 2 << 10  // maximum size of an address line, in bytes
)

// Format describes Internet mail.
var Format = format.Format{
	Type: format.TypeMail, Aliases: []string{"message/global"}, Extensions: []string{".eml"},
	Name: "an email", Label: "email (eml)", Text: true, Read: read,
	Sniff: func(head []byte, named string) bool { return messageType(head, named) == format.TypeMail },
}

// WebArchive describes web pages that a browser or Word saved as one file.
var WebArchive = format.Format{
	Type: format.TypeMHTML, Aliases: []string{"application/x-mimearchive"}, Extensions: []string{".mht", ".mhtml"},
	Name: "a web archive", Label: "web archive (mht)", Text: true, Read: readArchive,
	Sniff: func(head []byte, named string) bool { return messageType(head, named) == format.TypeMHTML },
}

// read reads a message: subject, addresses, date, text, and each attachment with its format's reader.
func read(p *format.Parser) error {
	data, err := p.Src.Bytes()
	if err != nil {
		return err
	}
	p.Doc.Route = cmp.Or(p.Doc.Route, "mail")
	m := &reader{p: p, left: p.Lim.MaxUnpacked}
	return m.message(data, 1)
}

// readArchive reads a web archive: a page that a browser or Word saved as one file. It skips pictures and style sheets.
func readArchive(p *format.Parser) error {
	data, err := p.Src.Bytes()
	if err != nil {
		return err
	}
	m := &reader{p: p, left: p.Lim.MaxUnpacked}
	header, body := splitHeader(data)
	root, err := m.root(mimePart{header: header, body: body}, 0)
	if err != nil {
		return err
	}
	if root == nil {
		return format.Errorf(format.NoText, "the web archive contains no page")
	}
	content, err := m.decode(*root)
	if err != nil {
		return err
	}
	mediaType, params := root.mediaType()
	p.Src.Data, p.Src.Size = bytes.NewReader(content), int64(len(content))
	p.Src.Declared = mime.FormatMediaType(mediaType, map[string]string{"charset": params["charset"]})
	if address := cmp.Or(header.Get("Snapshot-Content-Location"), root.header.Get("Content-Location")); p.Src.URL == "" && strings.HasPrefix(address, "http") {
		p.Src.URL = address
	}
	kind := format.TypeHTML
	if mediaType == format.TypeText {
		kind = format.TypeText
	}
	err = p.ReadAs(kind)
	p.Doc.Route = "mhtml/" + p.Doc.Route
	if p.Doc.Title == "" {
		p.Doc.Title = decodeHeader(header.Get("Subject"))
	}
	p.Meta(domain.MetaCreated, date(header.Get("Date")))
	return err
}

type reader struct {
	p           *format.Parser
	left        int64 // bytes that may still be decoded
	parts       int
	attachments int
	exceeded    bool // a limit on parts was exceeded, which causes a warning
}

// message reads a message: its header as text, then its body. `level` is the subject's heading level.
func (m *reader) message(data []byte, level int) error {
	header, body := splitHeader(data)
	subject := decodeHeader(header.Get("Subject"))
	if level == 1 {
		m.p.Doc.Title = subject
		m.p.Meta(domain.MetaAuthor, addresses(header.Get("From")))
		m.p.Meta(domain.MetaCreated, date(header.Get("Date")))
	}
	if subject != "" {
		if err := m.p.Out.Heading(level, subject, 0); err != nil {
			return err
		}
	}
	var lines []string
	for _, name := range []string{"From", "To", "Cc", "Reply-To"} {
		if text := addresses(strings.Join(header.Values(name), ", ")); text != "" {
			lines = append(lines, name+": "+text)
		}
	}
	if date := decodeHeader(header.Get("Date")); date != "" {
		lines = append(lines, "Date: "+date)
	}
	if err := m.p.Out.Paragraph(strings.Join(lines, "\n"), 0); err != nil {
		return err
	}
	return m.entity(mimePart{header: header, body: body}, level, 0)
}

// splitHeader splits a message or part into header and body. It skips malformed header lines.
func splitHeader(data []byte) (textproto.MIMEHeader, []byte) {
	header := textproto.MIMEHeader{}
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), "\r\n")
	name, size := "", 0
	var value strings.Builder // value of the current field
	end := func() {
		if name != "" {
			header[name] = append(header[name], value.String())
		}
		value.Reset()
	}
	defer end()
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		data = rest
		if len(line) == 0 {
			break
		}
		if size += len(line); size > maxMailHeader {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' { // continuation line
			value.WriteString(" " + strings.TrimSpace(string(line)))
			continue
		}
		end()
		key, start, ok := bytes.Cut(line, []byte(":"))
		if name = ""; !ok || len(key) == 0 || bytes.ContainsAny(key, " \t") {
			continue // the "From " line of a mailbox file, or damage
		}
		name = textproto.CanonicalMIMEHeaderKey(string(key))
		value.WriteString(strings.TrimSpace(string(start)))
	}
	return header, data
}

var headerWords = mime.WordDecoder{CharsetReader: charset.Reader}

// decodeHeader decodes the encoded words in a header value and guesses the encoding of raw non-ASCII bytes.
func decodeHeader(value string) string {
	if !utf8.ValidString(value) {
		value, _ = charset.Decode([]byte(value), "")
	}
	if decoded, err := headerWords.DecodeHeader(value); err == nil {
		value = decoded
	}
	return format.OneLine(value)
}

// addresses formats an address list for display.
func addresses(value string) string {
	if value == "" {
		return ""
	}
	parser := mail.AddressParser{WordDecoder: &headerWords}
	list, err := parser.ParseList(format.Cut(value, maxMailHeader))
	if err != nil {
		return format.Cut(decodeHeader(value), maxAddresses)
	}
	var b strings.Builder
	for _, a := range list {
		if b.Len() > maxAddresses {
			b.WriteString(", …")
			break
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		if a.Name != "" && a.Name != a.Address {
			b.WriteString(a.Name + " <" + a.Address + ">")
		} else {
			b.WriteString(a.Address)
		}
	}
	return format.OneLine(b.String())
}

// date converts a header's date to the metadata format. It returns "" if the date is invalid.
func date(value string) string {
	t, err := mail.ParseDate(value)
	if err != nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

// entity reads a message part according to its type.
func (m *reader) entity(part mimePart, level, nesting int) error {
	if err := m.p.Ctx.Err(); err != nil {
		return err
	}
	mediaType, params := part.mediaType()
	if strings.HasPrefix(mediaType, "multipart/") {
		return m.multipart(part, mediaType, level, nesting)
	}
	name := part.name()
	switch attached := part.attached(); {
	case mediaType == "message/rfc822" || mediaType == "message/global":
		return m.nested(part, level)
	case attached, name != "" && mediaType != format.TypeText && mediaType != format.TypeHTML:
		return m.attachment(part, mediaType, level)
	case isRTF(mediaType):
		return m.rtf(part)
	case strings.HasSuffix(mediaType, "pkcs7-mime"):
		m.p.Out.Warn("a part of the message is encrypted or signed with S/MIME and was skipped")
	case strings.HasPrefix(mediaType, "text/") && mediaType != "text/calendar" && mediaType != "text/css", mediaType == "message/delivery-status":
		return m.body(part, mediaType, params)
	}
	return nil // a picture within the text, or a signature
}

// multipart reads the parts of a multipart body, or only the best one if they are alternatives.
func (m *reader) multipart(part mimePart, mediaType string, level, nesting int) error {
	if nesting >= maxMultiparts {
		m.p.Out.Warn("parts of the message that are nested too deeply were skipped")
		return nil
	}
	parts := m.split(part)
	switch mediaType {
	case "multipart/alternative":
		best, err := m.bestPart(parts)
		if err != nil || best < 0 {
			return err
		}
		return m.entity(parts[best], level, nesting+1)
	case "multipart/encrypted":
		m.p.Out.Warn("the message is encrypted; its text cannot be read")
		return nil
	}
	for _, child := range parts {
		if err := m.entity(child, level, nesting+1); err != nil {
			return err
		}
	}
	return nil
}

// bestPart returns the index of the best alternative. That is the plain text, unless it is much shorter than the HTML's
// text. HTML is the second choice, because mail programs use layout tables in it.
func (m *reader) bestPart(parts []mimePart) (int, error) {
	plain, rich, size := -1, -1, 0
	for i, part := range parts {
		switch mediaType, _ := part.mediaType(); {
		case mediaType == format.TypeText && plain < 0:
			content, err := m.decode(part)
			if err != nil {
				return -1, err
			}
			plain, size = i, len(bytes.TrimSpace(content))
		case mediaType == format.TypeHTML, mediaType == "multipart/related", mediaType == "multipart/mixed", isRTF(mediaType) && rich < 0:
			rich = i
		}
	}
	if plain < 0 || rich < 0 {
		return max(plain, rich), nil
	}
	root, err := m.root(parts[rich], 0)
	if err != nil || root == nil {
		return plain, err
	}
	page, err := m.decode(*root)
	if err != nil {
		return -1, err
	}
	if kind, _ := parts[rich].mediaType(); kind == "multipart/mixed" || size*2 < visibleText(page) {
		return rich, nil
	}
	return plain, nil
}

// visibleText returns the approximate size, in bytes, of a page's text outside tags.
func visibleText(page []byte) int {
	n, tag, style := 0, false, false
	for i, c := range page {
		switch {
		case c == '<':
			tag = true
			if rest := bytes.ToLower(page[i:min(i+7, len(page))]); bytes.HasPrefix(rest, []byte("<style")) {
				style = true
			} else if bytes.HasPrefix(rest, []byte("</style")) {
				style = false
			}
		case c == '>':
			tag = false
		case !tag && !style && c > ' ':
			n++
		}
	}
	return n
}

// body reads a text part of the message.
func (m *reader) body(part mimePart, mediaType string, params map[string]string) error {
	content, err := m.decode(part)
	if err != nil || len(bytes.TrimSpace(content)) == 0 {
		return err
	}
	label := params["charset"]
	if !charset.Known(label) || strings.EqualFold(label, "us-ascii") {
		label = ""
	}
	text, _ := charset.Decode(content, label)
	if mediaType == format.TypeHTML {
		return m.p.Piece(format.TypeHTML, strings.NewReader(text))
	}
	if strings.EqualFold(params["format"], "flowed") {
		text = joinFlowed(text, strings.EqualFold(params["delsp"], "yes"))
	}
	q := *m.p
	q.Doc = &domain.Document{}
	q.Src = format.Source{Data: strings.NewReader(text), Size: int64(len(text)), Declared: "text/plain; charset=utf-8"}
	return q.ReadAs(format.TypeText)
}

// isRTF reports whether a media type is RTF. Some mail programs on macOS and Windows write messages in RTF.
func isRTF(mediaType string) bool {
	return mediaType == format.TypeRTF || mediaType == "text/rtf" || mediaType == "text/richtext"
}

func (m *reader) rtf(part mimePart) error {
	content, err := m.decode(part)
	if err != nil || len(bytes.TrimSpace(content)) == 0 {
		return err
	}
	q := *m.p
	q.Doc = &domain.Document{}
	q.Src = format.Source{Data: bytes.NewReader(content), Size: int64(len(content)), Declared: format.TypeRTF, PlainRows: m.p.Src.PlainRows}
	return q.ReadAs(format.TypeRTF)
}

// joinFlowed joins the lines of format=flowed text (RFC 3676), where a trailing space means that the line continues. If
// noSpace is set, the trailing space is removed.
func joinFlowed(text string, noSpace bool) string {
	var b strings.Builder
	quoted := 0
	flows := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimLeft(line, ">")
		depth := len(line) - len(bare)
		bare = strings.TrimPrefix(bare, " ")
		if flows && depth == quoted && bare != "-- " {
			line = bare
		} else if b.Len() > 0 {
			b.WriteByte('\n')
		}
		flows, quoted = strings.HasSuffix(bare, " ") && bare != "-- ", depth
		if flows && noSpace {
			line = strings.TrimSuffix(line, " ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// nested reads a message within a message.
func (m *reader) nested(part mimePart, level int) error {
	if m.p.Nesting++; m.p.Nesting > maxMailNesting {
		m.p.Nesting--
		m.p.Out.Warn("a message that is nested too deeply was skipped")
		return nil
	}
	defer func() { m.p.Nesting-- }()
	content, err := m.decode(part)
	if err != nil {
		return err
	}
	return m.message(content, level+1)
}

// attachment reads an attached file with its format's reader, under a heading with the file's name.
func (m *reader) attachment(part mimePart, mediaType string, level int) error {
	name := cmp.Or(part.name(), "attachment")
	if m.attachments++; m.attachments > maxAttachments {
		m.p.Out.Warn(fmt.Sprintf("the message has more than %d attachments; the rest were skipped", maxAttachments))
		return nil
	}
	content, err := m.decode(part)
	if err != nil {
		return err
	}
	return m.p.Embedded(content, name, mediaType, level+1, fmt.Sprintf("the attachment %q", format.Cut(name, 100)))
}
