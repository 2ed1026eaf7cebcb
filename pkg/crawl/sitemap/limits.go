package sitemap

import (
	"cmp"
	"fmt"
	"time"
)

// Limits bound what discovery reads of all sitemaps of a site together. What was found before one of them is
// reached stays, and Discovery.Problems says which it was. The limits of one file hold beside them.
type Limits struct {
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

func (l Limits) withDefaults() Limits {
	l.Files = cmp.Or(l.Files, 1_000)
	l.Bytes = cmp.Or(l.Bytes, 1<<30)
	l.Entries = cmp.Or(l.Entries, 5_000_000)
	l.Time = cmp.Or(l.Time, 45*time.Minute)
	return l
}

// Budget is what is left of the limits in one discovery.
type Budget struct {
	Limits Limits
	began  time.Time
	now    func() time.Time
	files  int
	bytes  int64 // left
	listed int
}

// NewBudget returns a budget whose time runs by the clock now. Limits that are 0 have their defaults.
func NewBudget(l Limits, now func() time.Time) *Budget {
	l = l.withDefaults()
	return &Budget{Limits: l, began: now(), now: now, bytes: l.Bytes}
}

// File counts one that is about to be read. It returns in words which limit does not allow that, "" if none.
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

// Entry counts one that is about to be taken, and returns what file does.
func (b *Budget) Entry() string {
	if b.listed >= b.Limits.Entries {
		return fmt.Sprintf("%d addresses were read", b.Limits.Entries)
	}
	b.listed++
	return ""
}

// TextSpent is which limit has been reached when text was cut off by the bytes that were left.
func (b *Budget) TextSpent() string {
	return fmt.Sprintf("%d MiB were read", b.Limits.Bytes>>20)
}
