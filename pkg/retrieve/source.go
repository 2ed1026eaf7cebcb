package retrieve

import (
	"strconv"

	"github.com/sluice/sluice/pkg/domain"
)

// source says where a fragment comes from: the page's address; the file's name, with the page where the format has
// pages; for a text, what the caller named in metadata "source", or else its name.
func source(d domain.ActiveDatasource, page int) string {
	named, _ := d.Metadata["source"].(string)
	switch {
	case (d.Type == domain.TypeWebPage || d.Type == domain.TypeWebSite) && d.SourceURL != "":
		return d.SourceURL
	case d.Type == domain.TypeText && named != "":
		return named
	case d.FileName != "":
		if page > 0 {
			return d.FileName + "#page=" + strconv.Itoa(page)
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
