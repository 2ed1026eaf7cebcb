package crawltest

import (
	"fmt"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func russian(token string) string {
	return fmt.Sprintf("Кодовое слово этой страницы, которую читает посетитель гавани: %s.", token)
}

func japaneseText(token string) string {
	return fmt.Sprintf("このページの合言葉は次のとおりです。港の灯台は夜に光ります。 %s 。", token)
}

func french(token string) string {
	return fmt.Sprintf("Le mot-clé de cette page, écrit à côté du phare où naît l'été : %s.", token)
}

// addEncodings adds compressed pages and pages in several charsets. Some pages declare their charset in the header and
// some in the HTML. Others declare a wrong charset, or none.
func (s *Site) addEncodings(lab *page) {
	hub := s.page(lab, "/lab/encodings/")
	utf16LE := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	utf16BE := unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	meta := func(name string) string { return fmt.Sprintf("<meta charset=%q>\n", name) }
	for i := range s.casesPerKind() {
		for name, c := range inOrder(map[string]struct {
			language func(string) string
			enc      encoding.Encoding // nil means UTF-8
			header   string
			head     string
		}{
			"1251-in-header":           {russian, charmap.Windows1251, "text/html; charset=windows-1251", ""},
			"1251-in-meta":             {russian, charmap.Windows1251, "text/html", meta("windows-1251")},
			"1251-in-http-equiv":       {russian, charmap.Windows1251, "text/html", `<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">` + "\n"},
			"header-beats-wrong-meta":  {russian, charmap.Windows1251, "text/html; charset=windows-1251", meta("utf-8")},
			"utf8-though-meta-differs": {french, nil, "text/html", meta("iso-8859-1")},
			"utf8-with-nothing":        {russian, nil, "text/html", ""},
			"latin1-in-header":         {french, charmap.Windows1252, "text/html; charset=ISO-8859-1", ""},
			"shift-jis-in-header":      {japaneseText, japanese.ShiftJIS, "text/html; charset=Shift_JIS", ""},
			"shift-jis-in-meta":        {japaneseText, japanese.ShiftJIS, "text/html", meta("Shift_JIS")},
			"euc-jp-in-header":         {japaneseText, japanese.EUCJP, "text/html; charset=EUC-JP", ""},
			"utf16-le":                 {russian, utf16LE, "text/html", ""},
			"utf16-be":                 {russian, utf16BE, "text/html; charset=utf-16", ""},
		}) {
			p := s.page(hub, fmt.Sprintf("/e/%s-%d", name, i))
			p.language, p.head = c.language, c.head
			p.answer = func(x *exchange) {
				body := []byte(x.body)
				if c.enc != nil {
					// Like HTML editors, write characters missing from the encoding as character references.
					out, err := encoding.HTMLEscapeUnsupported(c.enc.NewEncoder()).Bytes(body)
					if err != nil {
						panic(fmt.Sprintf("crawltest: encoding %s: %v", x.page.address, err))
					}
					body = out
				}
				x.send(c.header, body)
			}
		}
		// The header takes precedence but names the wrong charset, so only ASCII letters are decoded correctly.
		s.page(hub, fmt.Sprintf("/e/header-lies-%d", i)).answer = func(x *exchange) { x.send("text/html; charset=koi8-r", []byte(x.body)) }
		s.page(hub, fmt.Sprintf("/e/no-type-%d", i)).answer = func(x *exchange) { x.send("", []byte(x.body)) }
		s.page(hub, fmt.Sprintf("/e/octets-%d", i)).answer = func(x *exchange) { x.send("application/octet-stream", []byte(x.body)) }
		for name, answer := range inOrder(map[string]func(*exchange){
			"gzip": packed("gzip", Gzip), "deflate": packed("deflate", deflated), "x-gzip": packed("x-gzip", Gzip),
			"gzip-twice":       packed("gzip, gzip", func(b []byte) []byte { return Gzip(Gzip(b)) }),
			"gzip-only-in-say": packed("gzip", func(b []byte) []byte { return b }),
		}) {
			s.page(hub, fmt.Sprintf("/e/%s-%d", name, i)).answer = answer
		}
	}
}
