package catalog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluice/sluice/pkg/domain"
)

// The notices that processes give one another.
const (
	noticeOutbox = "outbox"
	noticeSweeps = "sweeps"
)

// noticePause bounds how often a process tells the others: what is committed meanwhile is told at once.
const noticePause = 20 * time.Millisecond

// notices tell other processes of what this one has queued, and wake this one by what they have. A notice is sent after
// the commit and not by it: PostgreSQL lets transactions that notify commit one at a time. So it may be lost, and is a
// matter of speed only.
type notices struct {
	c       *Catalog
	me      string // tells this process's own notices from others
	channel string
	due     map[string]chan struct{}
	listen  *session
	cancel  context.CancelFunc
	sending sync.WaitGroup
}

// startNotices returns when this process listens, or cannot yet.
func startNotices(ctx context.Context, c *Catalog) *notices {
	if c.db.session == nil {
		return nil
	}
	sending, cancel := context.WithCancel(context.Background())
	n := &notices{
		c:       c,
		me:      domain.NewID(),
		channel: fmt.Sprintf("sluice_%x", uint64(c.db.key("notices", ""))),
		due:     map[string]chan struct{}{noticeOutbox: make(chan struct{}, 1), noticeSweeps: make(chan struct{}, 1)},
		cancel:  cancel,
	}
	n.sending.Go(func() { n.send(sending) })
	n.listen = c.db.session(sessionOptions{
		log: c.log,
		begin: func(ctx context.Context, conn *pgx.Conn) error {
			if _, err := conn.Exec(ctx, `LISTEN `+n.channel); err != nil {
				return err
			}
			// What was told while nobody listened.
			signal(c.outboxWake)
			signal(c.sweepWake)
			return nil
		},
		notice: n.receive,
		lost:   func(error) {},
	})
	select {
	case <-n.listen.tried:
	case <-ctx.Done():
	}
	return n
}

// tell has the others woken.
func (n *notices) tell(what string) {
	if n != nil {
		signal(n.due[what])
	}
}

func (n *notices) receive(text string) {
	what, from, _ := strings.Cut(text, " ")
	switch {
	case from == n.me:
	case what == noticeOutbox:
		signal(n.c.outboxWake)
	case what == noticeSweeps:
		signal(n.c.sweepWake)
	}
}

func (n *notices) send(ctx context.Context) {
	for {
		var what string
		select {
		case <-n.due[noticeOutbox]:
			what = noticeOutbox
		case <-n.due[noticeSweeps]:
			what = noticeSweeps
		case <-ctx.Done():
			return
		}
		asking, done := context.WithTimeout(ctx, connectTimeout)
		_, err := n.c.db.write.ExecContext(asking, `SELECT pg_notify($1, $2)`, n.channel, what+" "+n.me)
		done()
		if err != nil && ctx.Err() == nil {
			n.c.log.Debug("other processes were not told of new work; they find it when they look", "error", err)
		}
		t := time.NewTimer(noticePause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// stop may be called twice.
func (n *notices) stop() {
	if n == nil {
		return
	}
	n.cancel()
	n.sending.Wait()
	n.listen.stop()
}
