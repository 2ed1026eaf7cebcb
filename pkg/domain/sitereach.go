package domain

// SiteReach decides which links become a site's pages, given its scope and number of pages.
type SiteReach struct {
	Scope    *SiteScope
	Limit    int   // maximum number of searchable pages
	Pages    int64 // the site's pages, including Refused
	Refused  int64 // pages excluded by the scope
	Leads    int64 // refused pages that are still read for their links
	MaxLeads int64 // limit for Leads
	patterns *Patterns
}

// Judge decides whether a link becomes a page of the site. If it doesn't, why is the reason; otherwise, why is "". The
// second result is the new page's Lead (see DatasourceConfig.Lead). It is 0 for the root and for pages that match an
// include pattern, and `lead` for all other pages.
func (r *SiteReach) Judge(l Link, lead int) (why string, _ int) {
	if SameAddress(l.URL, r.Scope.Root) {
		return "", 0 // the root is always read for its links
	}
	if r.patterns == nil {
		p := r.Scope.Patterns()
		r.patterns = &p
	}
	deepest := r.Scope.MaxDepth
	switch why = r.patterns.RefusesURL(l.URL); {
	case why == LeftExcluded:
		return why, 0
	case l.Depth > deepest:
		return LeftTooDeep, 0
	case why == "":
		return "", 0
	case !r.Scope.Follow, lead > MaxLead, l.Depth == deepest, r.Leads >= r.MaxLeads:
		return why, 0
	default:
		return "", lead
	}
}

// Full reports whether the site is at its limit of searchable pages.
func (r *SiteReach) Full() bool { return r.Pages-r.Refused >= int64(r.Limit) }

// Add counts a new page.
func (r *SiteReach) Add(lead int) {
	r.Pages++
	r.count(lead, 1)
}

// SetLead sets the Lead of a known page.
func (r *SiteReach) SetLead(page *Datasource, lead int) {
	r.count(page.Config.Lead, -1)
	r.count(lead, 1)
	if page.Config.Lead > MaxLead && lead > 0 && page.Status == StatusSkipped && page.DuplicateOf == "" {
		page.Error = r.Scope.LeftOutReason(LeftNotIncluded, page.Config.SourceURL)
	}
	page.Config.Lead = lead
}

func (r *SiteReach) count(lead int, by int64) {
	if lead > 0 {
		r.Refused += by
	}
	if lead > 0 && lead <= MaxLead {
		r.Leads += by
	}
}
