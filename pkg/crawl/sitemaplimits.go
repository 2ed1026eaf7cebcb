package crawl

import (
	"errors"
	"fmt"
	"time"
)

// SitemapLimits bound what discovery reads of all sitemaps of a site together. What was found before one of them is
// reached stays, and Discovery.Problems says which it was. The limits of one file hold beside them.
type SitemapLimits struct {
	// Files is how many files are read. Default: 1,000.
	Files int
	// Bytes is how much text they have, unpacked. Default: 1 GiB.
	Bytes int64
	// Entries is how many addresses they list, whether the site takes them or not. Default: 5 million.
	Entries int
	// Time is after which no other file is begun. Default: 45 minutes, less than a job may run: one that took longer would
	// be done again from the beginning.
	Time time.Duration
}

func (l SitemapLimits) withDefaults() SitemapLimits {
	setDefault(&l.Files, 1_000)
	setDefault(&l.Bytes, 1<<30)
	setDefault(&l.Entries, 5_000_000)
	setDefault(&l.Time, 45*time.Minute)
	return l
}

// errSpent ends the reading when one of the limits is reached. A problem says which.
var errSpent = errors.New("enough has been read of all sitemaps together")

// sitemapBudget is what is left of the limits in one discovery.
type sitemapBudget struct {
	limits SitemapLimits
	began  time.Time
	now    func() time.Time
	files  int
	bytes  int64 // left
	listed int
}

func newSitemapBudget(l SitemapLimits, now func() time.Time) *sitemapBudget {
	return &sitemapBudget{limits: l, began: now(), now: now, bytes: l.Bytes}
}

// file counts one that is about to be read. It returns in words which limit does not allow that, "" if none.
func (b *sitemapBudget) file() string {
	switch {
	case b.files >= b.limits.Files:
		return fmt.Sprintf("%d files were read", b.limits.Files)
	case b.now().Sub(b.began) >= b.limits.Time:
		return fmt.Sprintf("%d files took %s", b.files, b.limits.Time)
	}
	b.files++
	return ""
}

// entry counts one that is about to be taken, and returns what file does.
func (b *sitemapBudget) entry() string {
	if b.listed >= b.limits.Entries {
		return fmt.Sprintf("%d addresses were read", b.limits.Entries)
	}
	b.listed++
	return ""
}

// textSpent is which limit has been reached when text was cut off by the bytes that were left.
func (b *sitemapBudget) textSpent() string {
	return fmt.Sprintf("%d MiB were read", b.limits.Bytes>>20)
}

// spent notes as a problem, the first to be told, that a limit of all sitemaps together has been reached.
func (d *discovery) spent(limit string) error {
	const most = maxProblems - 1
	p := d.result.Problems
	d.result.Problems = append([]string{fmt.Sprintf(
		"The sitemaps were not read to their end: %s, which is the limit for one site. What they list beyond it was left out.", limit)},
		p[:min(len(p), most)]...)
	return errSpent
}
