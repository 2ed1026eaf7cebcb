package robots

import "strings"

// Directives are restrictions that a page sets with meta robots or X-Robots-Tag.
type Directives struct{ NoIndex, NoFollow bool }

// Add parses a meta element's content.
func (r *Directives) Add(content string) {
	for token := range strings.SplitSeq(strings.ToLower(content), ",") {
		switch strings.TrimSpace(token) {
		case "noindex":
			r.NoIndex = true
		case "nofollow":
			r.NoFollow = true
		case "none":
			r.NoIndex, r.NoFollow = true, true
		}
	}
}

// valuedDirectives are directives with a colon and a value. In an X-Robots-Tag, any other name before a colon is a
// crawler's name.
var valuedDirectives = map[string]bool{
	"unavailable_after": true, "max-snippet": true, "max-image-preview": true, "max-video-preview": true,
}

// AddHeader parses an X-Robots-Tag, which may start with a crawler's name.
func (r *Directives) AddHeader(value, product string) {
	name, rest, named := strings.Cut(value, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	if named && !strings.Contains(name, ",") && !valuedDirectives[name] {
		if !strings.EqualFold(name, product) {
			return
		}
		value = rest
	}
	r.Add(value)
}
