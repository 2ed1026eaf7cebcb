package domain

// HasCanonical reports whether a page of site d names the page with this id as canonical. Some sites wrongly name their
// root as canonical on every page, so the root doesn't count unless the page has the same address (see SameAddress).
func (d *Datasource) HasCanonical(page DatasourceConfig, id string) bool {
	root := d.Config.Scope(false).Root
	return page.Canonical != "" && ChildID(d.ID, page.Canonical) == id &&
		(!SameAddress(page.Canonical, root) || SameAddress(page.SourceURL, root))
}

// MayBeReplacedBy reports whether the fetched page d may be skipped in favour of target, its canonical page. similar
// says whether their texts are similar, and is ignored until target has been fetched. Active content in d is kept until
// target has content too or has finished processing.
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

// IsReplacedBy reports whether a page of site d is skipped in favour of keeper, another page with content. This
// requires that their texts are similar and that page names keeper as canonical, but not vice versa.
func (d *Datasource) IsReplacedBy(page, keeper Datasource, similar bool) bool {
	return page.ID != keeper.ID && page.GroupID == d.ID && similar &&
		d.HasCanonical(page.Config, keeper.ID) && !d.HasCanonical(keeper.Config, page.ID)
}

// maxCanonicals is the maximum number of canonical addresses that CanonicalCycle follows.
const maxCanonicals = 8

// CanonicalCycle reports whether canonical addresses lead from the page `from` to the page with this id. If they do,
// the caller must not replace either page with the other, because they would keep replacing each other. If `from`
// itself names the page with this id as canonical, the result is false, because the caller keeps one of the two anyway.
// read returns a page by id, or nil.
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

// BestPage returns the index of the best of several pages with the same content, or -1 if there are none. See
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

// PageChange says how a page's job affects pages that were skipped as its duplicates.
type PageChange int

// Values of PageChange.
const (
	PageSame    PageChange = iota // no effect
	PageLost                      // the page has no content; all pages skipped for it are fetched again
	PageKnown                     // the page has its first content; pages naming it as canonical are compared with it
	PageDiffers                   // the page's content or redirect differs; pages with the former content are refetched
)

// ChangeFrom returns the PageChange for a job that changed the page from `before` to d.
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

// FetchesAgain reports whether a page of site d must be fetched again. The page was skipped in favour of the page
// keeperID, which has now changed. similar says whether the two pages have similar texts.
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
