package domain

// HasCanonical reports whether a page of the site d names the page with the given id as its canonical page. Some sites
// wrongly name their root as the canonical page of every page. HasCanonical therefore ignores the root as a canonical
// page, unless the page itself has the same address as the root (see SameAddress).
func (d *Datasource) HasCanonical(page DatasourceConfig, id string) bool {
	root := d.Config.Scope(false).Root
	return page.Canonical != "" && ChildID(d.ID, page.Canonical) == id &&
		(!SameAddress(page.Canonical, root) || SameAddress(page.SourceURL, root))
}

// MayBeReplacedBy reports whether a fetched page, d, may be left out in favour of target, the page that d names as
// canonical. `similar` says whether the two pages have similar texts; it is ignored until target has been fetched. If d
// has active content, d is kept until target has content, too, or until the processing of target has ended.
func (d *Datasource) MayBeReplacedBy(target Datasource, similar bool) bool {
	switch {
	case !target.Alive() || target.DuplicateOf == d.ID:
		return false
	case target.Original != nil && !similar:
		return false
	default:
		return d.ActiveGeneration == 0 || target.ActiveGeneration > 0 || target.Status.Terminal()
	}
}

// IsReplacedBy reports whether a page of the site d is left out in favour of keeper, another page with content. This is
// so if the page names keeper as canonical, keeper does not name the page as canonical, and `similar` says that the two
// pages have similar texts.
func (d *Datasource) IsReplacedBy(page, keeper Datasource, similar bool) bool {
	return page.ID != keeper.ID && page.GroupID == d.ID && similar &&
		d.HasCanonical(page.Config, keeper.ID) && !d.HasCanonical(keeper.Config, page.ID)
}

// maxCanonicals is the maximum length of a chain of canonical addresses.
const maxCanonicals = 8

// CanonicalCycle follows canonical addresses from the page `from` and reports whether they lead to the page with the
// given id. If they do, the caller must not replace either page, because the pages would replace one another forever.
// The result is false if `from` itself names the page with the given id as canonical, because in that case the caller
// keeps one of the two. CanonicalCycle calls `read` to get the page with an id, or nil if there is none.
func (d *Datasource) CanonicalCycle(from Datasource, id string, read func(id string) (*Datasource, error)) (bool, error) {
	for hop := range maxCanonicals {
		if from.Config.Canonical == "" {
			return false, nil
		}
		next := ChildID(d.ID, from.Config.Canonical)
		switch {
		case next == from.ID || !d.HasCanonical(from.Config, next):
			return false, nil
		case next == id:
			return hop > 0, nil
		}
		page, err := read(next)
		if err != nil || page == nil {
			return false, err
		}
		from = *page
	}
	return false, nil
}

// BestPage returns the index of the best of several pages with the same content, or -1 for an empty list; see
// IsBetterThan.
func BestPage(pages []DatasourceConfig) int {
	best, config := -1, DatasourceConfig{}
	for i, p := range pages {
		if best < 0 || p.IsBetterThan(config) {
			best, config = i, p
		}
	}
	return best
}

// PageChange says what the end of a page's job means for the pages that were left out as duplicates of that page.
type PageChange int

// Values of PageChange.
const (
	PageSame    PageChange = iota // no effect
	PageLost                      // the page has no content: all pages left out in favour of it are fetched again
	PageKnown                     // its first content is known: pages that name it as canonical are compared with it
	PageDiffers                   // its content or redirect has changed: pages with its former content are fetched again
)

// ChangeFrom returns the PageChange for a job that has changed the page from `before` to d.
func (d *Datasource) ChangeFrom(before Datasource) PageChange {
	switch {
	case d.GroupID == "":
		return PageSame
	case !d.Alive():
		return PageLost
	case d.Original == nil:
		return PageSame
	case before.Original == nil:
		return PageKnown
	case before.TextName() != d.TextName(), before.Config.FinalURL == "" && d.Config.FinalURL != "":
		return PageDiffers
	default:
		return PageSame
	}
}

// FetchesAgain reports whether a page of the site d must be fetched again after a change to the page keeperID, in
// favour of which the page was left out. `similar` says whether the two pages have similar texts.
func (d *Datasource) FetchesAgain(page Datasource, keeperID string, change PageChange, similar bool) bool {
	if page.Status != StatusSkipped || page.GroupID != d.ID {
		return false
	}
	names := d.HasCanonical(page.Config, keeperID)
	switch change {
	case PageDiffers:
		return !names || !similar
	case PageKnown:
		return names && !similar
	default:
		return true
	}
}
