package retrieve

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// source returns a fragment's origin. For a web page, it is the page's address with the heading's anchor. For a file,
// it is the file's name, with the page number or, in a recording, with the time. For a text, it is the "source"
// metadata field or, if the text has none, its name.
func source(d domain.ActiveDatasource, page int, anchor string) string {
	named, _ := d.Metadata["source"].(string)
	switch {
	case (d.Type == domain.TypeWebPage || d.Type == domain.TypeWebSite) && d.SourceURL != "":
		return withAnchor(d.SourceURL, anchor)
	case d.Type == domain.TypeText && named != "":
		return named
	case d.FileName != "":
		if page > 0 {
			return d.FileName + "#page=" + strconv.Itoa(page)
		}
		if strings.HasPrefix(anchor, domain.TimeAnchor) {
			return d.FileName + "#" + anchor
		}
		return d.FileName
	case named != "":
		return named
	case d.SourceURL != "":
		return d.SourceURL
	default:
		return d.Name
	}
}

// withAnchor adds an anchor to a page's address. It keeps an existing fragment, because scripts may use it to choose
// the content.
func withAnchor(address, anchor string) string {
	if anchor == "" || strings.Contains(address, "#") {
		return address
	}
	return address + "#" + (&url.URL{Fragment: anchor}).EscapedFragment()
}
