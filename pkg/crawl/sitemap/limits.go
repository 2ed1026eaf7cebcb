package sitemap

import (
	"cmp"
	"fmt"
	"time"
)

// Limits apply to all of a site's sitemaps together, in addition to the limits per file. Entries read before a limit is
// reached are kept, and Discovery.Problems names the limit.
type Limits struct {
	// Files is the maximum number of files. Default: 1,000.
	Files int
	// Bytes is the maximum total decompressed size of the files. Default: 1 GiB.
	Bytes int64
	// Entries is the maximum number of addresses, including those that the site rejects. Default: 5 million.
	Entries int
	// Time is the maximum duration of the discovery, after which no more files are read. Default: 45 minutes. This is
	// less than a job's time limit, because a job that exceeds it starts over.
	Time time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Files = cmp.Or(l.Files, 1_000)
	l.Bytes = cmp.Or(l.Bytes, 1<<30)
	l.Entries = cmp.Or(l.Entries, 5_000_000)
	l.Time = cmp.Or(l.Time, 45*time.Minute)
	return l
}

// Budget is what is left of the limits during a discovery.
type Budget struct {
	Limits Limits
	began  time.Time
	now    func() time.Time
	files  int
	bytes  int64 // remaining bytes
	listed int
}

// NewBudget returns a budget with the limits l and the clock `now`. A limit of 0 selects the default.
func NewBudget(l Limits, now func() time.Time) *Budget {
	l = l.withDefaults()
	return &Budget{Limits: l, began: now(), now: now, bytes: l.Bytes}
}

// File counts a file about to be read. It returns "", or a description of the limit if one is reached.
func (b *Budget) File() string {
	switch {
	case b.files >= b.Limits.Files:
		return fmt.Sprintf("%d files were read", b.Limits.Files)
	case b.now().Sub(b.began) >= b.Limits.Time:
		return fmt.Sprintf("%d files took %s", b.files, b.Limits.Time)
	}
	b.files++
	return ""
}

// Entry counts an entry about to be used. It returns "", or a description of the limit if one was already reached.
func (b *Budget) Entry() string {
	if b.listed >= b.Limits.Entries {
		return fmt.Sprintf("%d addresses were read", b.Limits.Entries)
	}
	b.listed++
	return ""
}

// TextSpent describes the byte limit. Use it after Read has returned ErrTextSpent.
func (b *Budget) TextSpent() string {
	return fmt.Sprintf("%d MiB were read", b.Limits.Bytes>>20)
}
