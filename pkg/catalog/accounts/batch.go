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
	"github.com/sluice/sluice/pkg/lists"
)

// Time limit for storing one batch.
const batchTimeout = 10 * time.Second

// usageQueue stores concurrent callers' usage in a single transaction. While one batch is being stored, new callers
// join the next batch.
type usageQueue struct {
	lock sync.Mutex // held while a batch is stored

	mu   sync.Mutex
	next *usageBatch // the batch to be stored next; nil if there is none
}

// usageBatch is usage to be stored in one transaction. usageQueue.lock guards `done` and `errs`.
type usageBatch struct {
	sums map[domain.Account]map[domain.Metric]int64
	done bool
	errs map[domain.Account]error
}

// accountUses holds the uses counted for one account.
type accountUses struct {
	account domain.Account
	uses    map[domain.Metric]int64
}

// count adds uses to an account's counters and returns once they are stored. Concurrent calls share a transaction.
func (y *usageQueue) count(ctx context.Context, a domain.Account, uses map[domain.Metric]int64, store func(context.Context, []accountUses) error) error {
	own := y.join(a, uses)
	y.lock.Lock()
	defer y.lock.Unlock()
	if own.done {
		return own.errs[a]
	}
	y.mu.Lock()
	y.next = nil
	y.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout) // the batch has other callers' uses, too
	defer cancel()
	own.store(ctx, store)
	return own.errs[a]
}

// store stores the whole batch. If that fails, it stores each account separately, so that one account's error doesn't
// lose the others' usage.
func (t *usageBatch) store(ctx context.Context, store func(context.Context, []accountUses) error) {
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

func (y *usageQueue) join(a domain.Account, uses map[domain.Metric]int64) *usageBatch {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.next == nil {
		y.next = newUsageBatch()
	}
	y.next.add(a, uses)
	return y.next
}

func newUsageBatch() *usageBatch {
	return &usageBatch{sums: make(map[domain.Account]map[domain.Metric]int64)}
}

func (t *usageBatch) add(a domain.Account, uses map[domain.Metric]int64) {
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

// ordered returns the usage sorted by workspace and key. All transactions lock workspaces in this order to avoid
// deadlocks.
func (t *usageBatch) ordered() []accountUses {
	accounts := slices.SortedFunc(maps.Keys(t.sums), func(a, b domain.Account) int {
		return cmp.Or(strings.Compare(a.WorkspaceID, b.WorkspaceID), strings.Compare(a.KeyID, b.KeyID))
	})
	return lists.Map(accounts, func(a domain.Account) accountUses { return accountUses{a, t.sums[a]} })
}
