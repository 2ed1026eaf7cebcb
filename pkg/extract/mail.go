package extract

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
)

const (
	maxMailNesting = 4        // depth of messages and attachments inside one another
	maxMailParts   = 1000     // parts of a message, including nested messages
	maxMultiparts  = 20       // nesting of multipart bodies
	maxAttachments = 100      // attachments read; the others are named in a warning
	maxMailHeader  = 64 << 10 // bytes of a message's header that are read
	maxAddresses   = 2 << 10  // bytes of one line of addresses
)

// mailFormat is Internet mail.
var mailFormat = Format{
	Type: TypeMail, Aliases: []string{"message/global"}, Extensions: []string{".eml"},
	Name: "a mail", Label: "mail (eml)", Text: true, Read: readMail,
	Sniff: func(head []byte, named string) bool { return messageType(head, named) == TypeMail },
}

// archiveFormat is a page with its parts in one file, as a browser or Word saves it.
var archiveFormat = Format{
	Type: TypeMHTML, Aliases: []string{"application/x-mimearchive"}, Extensions: []string{".mht", ".mhtml"},
	Name: "a web archive", Label: "web archive (mht)", Text: true, Read: readMHTML,
	Sniff: func(head []byte, named string) bool { return messageType(head, named) == TypeMHTML },
}

// readMail reads a message: subject, addresses, date and text, and each attachment with the reader of its format.
func readMail(p *parser) error {
	data, err := p.src.bytes()
	if err != nil {
		return err
	}
	if p.doc.Route == "" {
		p.doc.Route = "mail"
	}
	m := &mailReader{p: p, left: p.lim.MaxUnpacked}
	return m.message(data, 1)
}

// readMHTML reads a web archive: a page that a browser or Word saved as one file. Only the page is read, not its pictures and
// style sheets.
func readMHTML(p *parser) error {
	data, err := p.src.bytes()
	if err != nil {
		return err
	}
	m := &mailReader{p: p, left: p.lim.MaxUnpacked}
	header, body := splitHeader(data)
	root, err := m.root(mailPart{header: header, body: body}, 0)
	if err != nil {
		return err
	}
	if root == nil {
		return fail(NoText, "the web archive holds no page")
	}
	content, err := m.decode(*root)
	if err != nil {
		return err
	}
	mediaType, params := root.mediaType()
	p.src.Data, p.src.Size = bytes.NewReader(content), int64(len(content))
	p.src.Declared = mime.FormatMediaType(mediaType, map[string]string{"charset": params["charset"]})
	if address := cmp.Or(header.Get("Snapshot-Content-Location"), root.header.Get("Content-Location")); p.src.URL == "" && strings.HasPrefix(address, "http") {
		p.src.URL = address
	}
	kind := TypeHTML
	if mediaType == TypeText {
		kind = TypeText
	}
	err = p.readAs(kind)
	p.doc.Route = "mhtml/" + p.doc.Route
	if p.doc.Title == "" {
		p.doc.Title = decodeHeader(header.Get("Subject"))
	}
	p.meta(domain.MetaCreated, mailDate(header.Get("Date")))
	return err
}

// mailReader reads one message, including attachments and nested messages.
type mailReader struct {
	p           *parser
	left        int64 // remaining budget of decoded bytes
	parts       int
	attachments int
	over        bool // a bound on parts was exceeded; a warning is emitted
}

// message reads a message: the header as text, then the body. level is the heading level of the subject.
func (m *mailReader) message(data []byte, level int) error {
	header, body := splitHeader(data)
	subject := decodeHeader(header.Get("Subject"))
	if level == 1 {
		m.p.doc.Title = subject
		m.p.meta(domain.MetaAuthor, mailAddresses(header.Get("From")))
		m.p.meta(domain.MetaCreated, mailDate(header.Get("Date")))
	}
	if subject != "" {
		if err := m.p.out.heading(level, subject, 0); err != nil {
			return err
		}
	}
	var lines []string
	for _, name := range []string{"From", "To", "Cc", "Reply-To"} {
		if text := mailAddresses(strings.Join(header.Values(name), ", ")); text != "" {
			lines = append(lines, name+": "+text)
		}
	}
	if date := decodeHeader(header.Get("Date")); date != "" {
		lines = append(lines, "Date: "+date)
	}
	if err := m.p.out.paragraph(strings.Join(lines, "\n"), 0); err != nil {
		return err
	}
	return m.entity(mailPart{header: header, body: body}, level, 0)
}

// splitHeader splits a message or part into header and body. Malformed header lines are skipped.
func splitHeader(data []byte) (textproto.MIMEHeader, []byte) {
	header := textproto.MIMEHeader{}
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), "\r\n")
	name, size := "", 0
	var value strings.Builder // of the field that is read
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
		if line[0] == ' ' || line[0] == '\t' { // a continuation line
			value.WriteString(" " + strings.TrimSpace(string(line)))
			continue
		}
		end()
		key, start, ok := bytes.Cut(line, []byte(":"))
		if name = ""; !ok || len(key) == 0 || bytes.ContainsAny(key, " \t") {
			continue // "From " of a mailbox file, or damage
		}
		name = textproto.CanonicalMIMEHeaderKey(string(key))
		value.WriteString(strings.TrimSpace(string(start)))
	}
	return header, data
}

var headerWords = mime.WordDecoder{CharsetReader: xmlCharset}

// decodeHeader decodes the encoded words of a header value, and guesses the encoding of raw non-ASCII bytes.
func decodeHeader(value string) string {
	if !utf8.ValidString(value) {
		value, _ = decodeText([]byte(value), "")
	}
	if decoded, err := headerWords.DecodeHeader(value); err == nil {
		value = decoded
	}
	return oneLine(value)
}

// mailAddresses formats a list of addresses for readers.
func mailAddresses(value string) string {
	if value == "" {
		return ""
	}
	parser := mail.AddressParser{WordDecoder: &headerWords}
	list, err := parser.ParseList(cutBytes(value, maxMailHeader))
	if err != nil {
		return cutBytes(decodeHeader(value), maxAddresses)
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
	return oneLine(b.String())
}

// mailDate converts a header's date to the format of metadata; "" if there is none.
func mailDate(value string) string {
	t, err := mail.ParseDate(value)
	if err != nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

// entity reads a part of a message by its type.
func (m *mailReader) entity(part mailPart, level, nesting int) error {
	if err := m.p.ctx.Err(); err != nil {
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
	case attached, name != "" && mediaType != TypeText && mediaType != TypeHTML:
		return m.attachment(part, mediaType, level)
	case strings.HasSuffix(mediaType, "pkcs7-mime"):
		m.p.out.warn("a part of the message is encrypted or signed by S/MIME, which cannot be read")
	case strings.HasPrefix(mediaType, "text/") && mediaType != "text/calendar" && mediaType != "text/css", mediaType == "message/delivery-status":
		return m.body(part, mediaType, params)
	}
	return nil // a picture in the text, a signature
}

// multipart reads the parts of a body: all of them, or the best of alternatives.
func (m *mailReader) multipart(part mailPart, mediaType string, level, nesting int) error {
	if nesting >= maxMultiparts {
		m.p.out.warn("parts of the message are nested deeper than are read; they were left out")
		return nil
	}
	parts := m.split(part)
	switch mediaType {
	case "multipart/alternative":
		best, err := m.best(parts)
		if err != nil || best < 0 {
			return err
		}
		return m.entity(parts[best], level, nesting+1)
	case "multipart/encrypted":
		m.p.out.warn("the message is encrypted; its text cannot be read")
		return nil
	}
	for _, child := range parts {
		if err := m.entity(child, level, nesting+1); err != nil {
			return err
		}
	}
	return nil
}

// best chooses among alternatives: plain text, because HTML mail is laid out with tables, unless it has much less text than
// the HTML.
func (m *mailReader) best(parts []mailPart) (int, error) {
	plain, rich, size := -1, -1, 0
	for i, part := range parts {
		switch mediaType, _ := part.mediaType(); {
		case mediaType == TypeText && plain < 0:
			content, err := m.decode(part)
			if err != nil {
				return -1, err
			}
			plain, size = i, len(bytes.TrimSpace(content))
		case mediaType == TypeHTML, mediaType == "multipart/related", mediaType == "multipart/mixed":
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

// visibleText returns the approximate number of bytes of a page outside its tags.
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
func (m *mailReader) body(part mailPart, mediaType string, params map[string]string) error {
	content, err := m.decode(part)
	if err != nil || len(bytes.TrimSpace(content)) == 0 {
		return err
	}
	label := params["charset"]
	if !knownEncoding(label) || strings.EqualFold(label, "us-ascii") {
		label = ""
	}
	text, _ := decodeText(content, label)
	if mediaType == TypeHTML {
		return m.p.piece(TypeHTML, strings.NewReader(text))
	}
	if strings.EqualFold(params["format"], "flowed") {
		text = unflow(text, strings.EqualFold(params["delsp"], "yes"))
	}
	q := *m.p
	q.doc = &domain.Document{}
	q.src = Source{Data: strings.NewReader(text), Size: int64(len(text)), Declared: "text/plain; charset=utf-8"}
	return q.readAs(TypeText)
}

// unflow joins the lines of a text with format=flowed (RFC 3676): a line that ends in a space continues on the next.
func unflow(text string, noSpace bool) string {
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

// nested reads a message inside a message.
func (m *mailReader) nested(part mailPart, level int) error {
	if m.p.nesting++; m.p.nesting > maxMailNesting {
		m.p.nesting--
		m.p.out.warn("a message nested deeper than messages are read was left out")
		return nil
	}
	defer func() { m.p.nesting-- }()
	content, err := m.decode(part)
	if err != nil {
		return err
	}
	return m.message(content, level+1)
}

// attachment reads an attached file with the reader of its format, under a heading with the file's name.
func (m *mailReader) attachment(part mailPart, mediaType string, level int) error {
	name := cmp.Or(part.name(), "attachment")
	if m.attachments++; m.attachments > maxAttachments {
		m.p.out.warn(fmt.Sprintf("the message has more than the %d attachments that are read; the others were left out", maxAttachments))
		return nil
	}
	content, err := m.decode(part)
	if err != nil {
		return err
	}
	return m.p.embedded(content, name, mediaType, level+1, fmt.Sprintf("the attachment %q", cutBytes(name, 100)))
}
