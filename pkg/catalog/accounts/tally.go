package accounts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// tallyTimeout is how long uses that several callers count together may take to be stored.
const tallyTimeout = 10 * time.Second

// tally brings uses that are counted at the same moment together, so that one transaction stores them all: while one of them
// is being stored, the others wait as one.
type tally struct {
	turn sync.Mutex // held by who stores

	mu   sync.Mutex
	next *tallied // what is stored next; nil: nothing waits
}

// tallied are uses that are stored together. done and errs belong to who holds the turn.
type tallied struct {
	sums map[domain.Account]map[domain.Metric]int64
	done bool
	errs map[domain.Account]error
}

// accountUses are uses of an account.
type accountUses struct {
	account domain.Account
	uses    map[domain.Metric]int64
}

// count has uses stored, and returns once they are.
func (y *tally) count(ctx context.Context, a domain.Account, uses map[domain.Metric]int64, store func(context.Context, []accountUses) error) error {
	own := y.join(a, uses)
	y.turn.Lock()
	defer y.turn.Unlock()
	if own.done {
		return own.errs[a]
	}
	y.mu.Lock()
	y.next = nil
	y.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tallyTimeout) // others' uses do not end with this caller
	defer cancel()
	own.store(ctx, store)
	return own.errs[a]
}

// store stores all, or, when that fails, each account's by itself: none is lost for another's fault.
func (t *tallied) store(ctx context.Context, store func(context.Context, []accountUses) error) {
	t.done = true
	all := t.ordered()
	err := store(ctx, all)
	if err == nil {
		return
	}
	t.errs = make(map[domain.Account]error, len(all))
	for _, one := range all {
		if len(all) > 1 {
			err = store(ctx, []accountUses{one})
		}
		t.errs[one.account] = err
	}
}

// join adds uses to those that are stored next.
func (y *tally) join(a domain.Account, uses map[domain.Metric]int64) *tallied {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.next == nil {
		y.next = newTallied()
	}
	y.next.add(a, uses)
	return y.next
}

func newTallied() *tallied { return &tallied{sums: make(map[domain.Account]map[domain.Metric]int64)} }

// add adds uses to those of the account.
func (t *tallied) add(a domain.Account, uses map[domain.Metric]int64) {
	sums := t.sums[a]
	if sums == nil {
		sums = make(map[domain.Metric]int64, len(uses))
		t.sums[a] = sums
	}
	for m, n := range uses {
		if n != 0 {
			sums[m] += n
		}
	}
}

// ordered lists the uses by account, in the order that all transactions take workspaces in.
func (t *tallied) ordered() []accountUses {
	accounts := slices.SortedFunc(maps.Keys(t.sums), func(a, b domain.Account) int {
		return cmp.Or(strings.Compare(a.WorkspaceID, b.WorkspaceID), strings.Compare(a.KeyID, b.KeyID))
	})
	out := make([]accountUses, len(accounts))
	for i, a := range accounts {
		out[i] = accountUses{a, t.sums[a]}
	}
	return out
}
