package extract

import (
	"mime"
	"strings"
)

// declaredCharset is the charset parameter of the declared type, or "".
func (p *parser) declaredCharset() string {
	_, params, err := mime.ParseMediaType(p.src.Declared)
	if err != nil {
		return ""
	}
	return params["charset"]
}

// decoded reads the whole source as text and notes the encoding in the route.
func (p *parser) decoded(route string) (string, error) {
	data, err := p.src.bytes()
	if err != nil {
		return "", err
	}
	text, enc := decodeText(data, p.declaredCharset())
	p.doc.Route = route + "/" + enc
	return text, nil
}

// text reads plain text: paragraphs are parted by empty lines.
func (p *parser) text() error {
	text, err := p.decoded("text")
	if err != nil {
		return err
	}
	return p.paragraphs(text)
}

// paragraphs emits text as paragraphs parted by empty lines; a text without any becomes one, split by size.
func (p *parser) paragraphs(text string) error {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\f", "\n\n").Replace(text)
	var para strings.Builder
	flush := func() error {
		s := para.String()
		para.Reset()
		return p.out.paragraph(s, 0)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		para.WriteString(line)
		para.WriteByte('\n')
	}
	return flush()
}
