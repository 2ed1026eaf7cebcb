package outlook

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/extract/format"
)

// converter converts a message, and any messages attached to it, into Internet mail.
type converter struct {
	p    *format.Parser
	left int64 // bytes that may still be read from streams, which overlap in hostile files
}

// part is part of the converted message, with its own header and body.
type part struct {
	header [][2]string
	body   []byte
	raw    bool // the body starts with its own header fields
}

// message converts the message in a storage. `header` is the header size of its property stream.
func (c *converter) message(s *storage, header int, nesting int) ([]byte, error) {
	if err := c.p.Ctx.Err(); err != nil {
		return nil, err
	}
	m, err := c.properties(s, header, nil)
	if err != nil {
		return nil, err
	}
	fields := [][2]string{
		{"Subject", m.text(tagSubject)},
		{"From", address(cmp.Or(m.text(tagSenderName), m.text(tagRepresentingName)), cmp.Or(m.smtp(tagSenderSMTP), m.smtp(tagSenderEmail), m.smtp(tagRepresentingSMTP), m.smtp(tagRepresentingEmail)))},
	}
	recipients, err := c.recipients(s, m)
	if err != nil {
		return nil, err
	}
	if recipients["To"] == nil && recipients["Cc"] == nil {
		recipients = map[string][]string{"To": {m.text(tagDisplayTo)}, "Cc": {m.text(tagDisplayCc)}}
	}
	for _, name := range []string{"To", "Cc"} {
		fields = append(fields, [2]string{name, strings.Join(recipients[name], ", ")})
	}
	if sent := m.time(tagSubmitted, tagDelivered, tagCreated); !sent.IsZero() {
		fields = append(fields, [2]string{"Date", sent.Format(time.RFC1123Z)})
	}
	parts := c.bodies(m)
	attached, err := c.attachments(s, m, nesting)
	if err != nil {
		return nil, err
	}
	return c.mixed(fields, append(parts, attached...)), nil
}

// bodies returns a message's text in every format the message contains. If these include plain text and HTML, package
// mail chooses between them.
func (c *converter) bodies(m *properties) []part {
	var alternatives []part
	if text := m.text(tagBody); strings.TrimSpace(text) != "" {
		alternatives = append(alternatives, part{header: [][2]string{{"Content-Type", "text/plain; charset=utf-8"}}, body: []byte(text)})
	}
	if page, label := m.html(); len(bytes.TrimSpace(page)) > 0 {
		kind := format.TypeHTML
		if label != "" {
			kind += "; charset=" + label
		}
		alternatives = append(alternatives, part{header: [][2]string{{"Content-Type", kind}}, body: page})
	}
	if len(alternatives) == 0 {
		packed := m.binary(tagRTF)
		if text, ok := decompress(packed, c.left); ok && len(text) > 0 {
			alternatives = append(alternatives, part{header: [][2]string{{"Content-Type", format.TypeRTF}}, body: text})
		} else if len(packed) > 0 {
			c.p.Out.Warn("the text of the message is damaged and was skipped")
		}
	}
	if len(alternatives) < 2 {
		return alternatives
	}
	boundary := boundaryOf(alternatives)
	return []part{{header: [][2]string{{"Content-Type", "multipart/alternative; boundary=" + boundary}}, body: joined(alternatives, boundary)}}
}

// recipients returns a message's recipients by header field, To or Cc.
func (c *converter) recipients(s *storage, m *properties) (map[string][]string, error) {
	all := map[string][]string{}
	for _, child := range s.children {
		if !strings.HasPrefix(child.name, "__recip_version1.0_") {
			continue
		}
		r, err := c.properties(child, partHeader, m)
		if err != nil {
			return nil, err
		}
		field := map[uint32]string{1: "To", 2: "Cc"}[r.number(tagRecipientType)]
		if field == "" || len(all[field]) >= maxRecipients {
			continue
		}
		if a := address(r.text(tagDisplayName), cmp.Or(r.smtp(tagSMTP), r.smtp(tagEmail))); a != "" {
			all[field] = append(all[field], a)
		}
	}
	return all, nil
}

// maxRecipients is the maximum number of recipients per header field. Package mail shortens long lists anyway.
const maxRecipients = 1000

// attachments converts a message's attachments.
func (c *converter) attachments(s *storage, m *properties, nesting int) ([]part, error) {
	var parts []part
	class := strings.ToLower(m.text(tagClass))
	for _, child := range s.children {
		if !strings.HasPrefix(child.name, "__attach_version1.0_") {
			continue
		}
		a, err := c.properties(child, partHeader, m)
		if err != nil {
			return nil, err
		}
		if embedded := child.child("__substg1.0_3701000d"); embedded != nil {
			next, err := c.attachedMessage(embedded, a, nesting)
			if err != nil {
				return nil, err
			}
			parts = append(parts, next...)
			continue
		}
		data := a.binary(tagData)
		switch {
		case class == "ipm.note.smime.multipartsigned": // the attachment is the message as sent
			parts = append(parts, part{body: data, raw: true})
			continue
		case strings.HasPrefix(class, "ipm.note.smime"):
			parts = append(parts, part{header: [][2]string{{"Content-Type", "application/pkcs7-mime"}}, body: data})
			continue
		}
		parts = append(parts, part{header: c.attachmentHeader(a, m), body: data})
	}
	return parts, nil
}

// attachedMessage converts an attached message. For an object embedded by another program, it only adds a warning.
func (c *converter) attachedMessage(s *storage, a *properties, nesting int) ([]part, error) {
	if s.streams[propertiesStream] == nil {
		c.p.Out.Warn("embedded objects were skipped; upload them as separate files")
		return nil, nil
	}
	if nesting >= maxNesting {
		c.p.Out.Warn("a message that is nested too deeply was skipped")
		return nil, nil
	}
	message, err := c.message(s, embeddedHeader, nesting+1)
	if err != nil {
		return nil, err
	}
	return []part{{header: [][2]string{{"Content-Type", "message/rfc822"}}, body: message}}, nil
}

// attachmentHeader returns the header fields that give an attachment's type and name and tell whether it is inline,
// such as a picture in the message's text.
func (c *converter) attachmentHeader(a, message *properties) [][2]string {
	kind := strings.ToLower(strings.TrimSpace(a.text(tagMIME)))
	if media, _, err := mime.ParseMediaType(kind); err != nil || !strings.Contains(media, "/") || strings.HasPrefix(media, "multipart/") || strings.HasPrefix(media, "message/") {
		kind = "application/octet-stream"
	} else {
		kind = media
	}
	disposition := "attachment"
	if id := a.text(tagContentID); a.number(tagHidden)&1 != 0 || id != "" && message.refersTo(id) {
		disposition = "inline"
	}
	name := cmp.Or(a.text(tagLongName), a.text(tagShortName), a.text(tagDisplayName))
	if named := mime.FormatMediaType(disposition, map[string]string{"filename": format.OneLine(name)}); name != "" && named != "" {
		disposition = named
	}
	return [][2]string{{"Content-Type", kind}, {"Content-Disposition", disposition}}
}

// mixed combines header fields and parts into a message.
func (c *converter) mixed(fields [][2]string, parts []part) []byte {
	fields = append(fields, [2]string{"MIME-Version", "1.0"})
	boundary := boundaryOf(parts)
	fields = append(fields, [2]string{"Content-Type", "multipart/mixed; boundary=" + boundary})
	var b bytes.Buffer
	writeFields(&b, fields)
	b.Write(joined(parts, boundary))
	return b.Bytes()
}

func writeFields(b *bytes.Buffer, fields [][2]string) {
	for _, f := range fields {
		if value := format.OneLine(f[1]); value != "" {
			fmt.Fprintf(b, "%s: %s\r\n", f[0], value)
		}
	}
	b.WriteString("\r\n")
}

// joined writes the parts of a multipart body, separated by the boundary.
func joined(parts []part, boundary string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		b.WriteString("--" + boundary + "\r\n")
		if !p.raw {
			writeFields(&b, p.header)
		}
		b.Write(p.body)
		b.WriteString("\r\n")
	}
	b.WriteString("--" + boundary + "--\r\n")
	return b.Bytes()
}

// boundaryOf derives the boundary from a hash of the parts, so that it does not occur in them.
func boundaryOf(parts []part) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p.body)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// address formats a name and email address for a mail header.
func address(name, email string) string {
	name = format.OneLine(name)
	switch {
	case email == "":
		return strings.NewReplacer(",", " ", ";", " ", "<", "(", ">", ")", `"`, "").Replace(name)
	case name == "" || name == email:
		return email
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `" <` + email + ">"
}
