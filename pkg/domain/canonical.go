package domain

// HasCanonical reports whether a page of the site names the page with the given id as its canonical page. Some sites
// wrongly name their root as the canonical page of every page. So HasCanonical ignores the root as a canonical page,
// unless SameAddress returns true for the addresses of the page and the root.
func (d *Datasource) HasCanonical(page DatasourceConfig, id string) bool {
	root := d.Config.Scope(false).Root
	return page.Canonical != "" && ChildID(d.ID, page.Canonical) == id &&
		(!SameAddress(page.Canonical, root) || SameAddress(page.SourceURL, root))
}

// MayBeReplacedBy reports whether a fetched page, d, may be left out in favour of target, the page that d names as
// canonical. `similar` reports whether the two pages have similar texts. Until target has been fetched, `similar` is
// ignored. A page with active content is kept until target has content, too, or until target has been processed.
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

// IsReplacedBy reports whether a page of the site is left out in favour of keeper, a page with content. This requires
// that the page names keeper as canonical, that keeper does not name the page as canonical, and that the texts of the
// two pages are similar.
func (d *Datasource) IsReplacedBy(page, keeper Datasource, similar bool) bool {
	return page.ID != keeper.ID && page.GroupID == d.ID && similar &&
		d.HasCanonical(page.Config, keeper.ID) && !d.HasCanonical(keeper.Config, page.ID)
}

// maxCanonicals is the maximum length of a chain of canonical addresses.
const maxCanonicals = 8

// CanonicalCycle follows the canonical addresses of pages, starting with the page `from`, and reports whether one of
// them is the page with the given id. The caller must not replace the pages of such a cycle; they would replace one
// another forever. The result is false if `from` itself names that page, because the caller keeps one of the two. The
// function `read` returns the page with an id, or nil if the page does not exist.
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

// PageChange is the effect of a page's completed job on pages that were left out in favour of that page.
type PageChange int

// Values of PageChange.
const (
	PageSame    PageChange = iota // no effect
	PageLost                      // the page has no content: all pages left out in favour of it are fetched again
	PageKnown                     // its first content is known: pages that name it as canonical are compared with it
	PageDiffers                   // its content or redirect has changed: pages with its former content are fetched again
)

// ChangeFrom returns the effect of the job that changed the page from `before` to d.
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

// FetchesAgain reports whether a page that was left out in favour of another one, the keeper, must be fetched again
// after a change to the keeper. `similar` reports whether the two pages have similar texts.
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
