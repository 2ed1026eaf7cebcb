package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/sleep"
)

// noticePause is the minimum time between two notices from a process. Topics announced in between share the next
// notice.
const noticePause = 20 * time.Millisecond

// notices tells other processes about queued work and receives their notices. A notice is sent after the transaction's
// commit and not as part of it, because PostgreSQL serialises commits that contain notices. If the process dies between
// commit and notice, the notice is lost and the work starts later.
type notices struct {
	db        *DB
	processID string // identifies this process's own notices
	channel   string
	mu        sync.Mutex
	pending   []string      // topics to announce to other processes
	wake      chan struct{} // signals that topics are due
	listen    *session
	cancel    context.CancelFunc
	sending   sync.WaitGroup
}

// startNotices starts sending and receiving notices. It returns once this process is listening or the first attempt to
// connect has failed.
func startNotices(ctx context.Context, d *DB) *notices {
	if d.session == nil {
		return nil
	}
	sending, cancel := context.WithCancel(context.Background())
	n := &notices{
		db:        d,
		processID: domain.NewID(),
		channel:   fmt.Sprintf("sluice_%x", uint64(d.key("notices", ""))),
		wake:      make(chan struct{}, 1),
		cancel:    cancel,
	}
	n.sending.Go(func() { n.send(sending) })
	n.listen = d.session(sessionOptions{
		log: d.Log,
		begin: func(ctx context.Context, conn *pgx.Conn) error {
			if _, err := conn.Exec(ctx, `LISTEN `+n.channel); err != nil {
				return err
			}
			d.topics.wakeAll() // announcements may have been missed while not listening
			return nil
		},
		notice: n.receive,
		lost:   func(error) {},
	})
	select {
	case <-n.listen.attempted:
	case <-ctx.Done():
	}
	return n
}

func (n *notices) notify(topic string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	if !slices.Contains(n.pending, topic) {
		n.pending = append(n.pending, topic)
	}
	n.mu.Unlock()
	signal(n.wake)
}

// next removes and returns the topics to announce.
func (n *notices) next() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	due := n.pending
	n.pending = nil
	return due
}

func (n *notices) receive(text string) {
	topic, from, _ := strings.Cut(text, " ")
	if ch, known := n.db.topics[topic]; known && from != n.processID {
		signal(ch)
	}
}

func (n *notices) send(ctx context.Context) {
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		for _, topic := range n.next() {
			asking, done := context.WithTimeout(ctx, connectTimeout)
			_, err := n.db.write.ExecContext(asking, `SELECT pg_notify($1, $2)`, n.channel, topic+" "+n.processID)
			done()
			if err != nil && ctx.Err() == nil {
				n.db.Log.Debug("notifying other processes of new work failed; they find it by polling", "error", err)
			}
		}
		if sleep.For(ctx, noticePause) != nil {
			return
		}
	}
}

// stop may be called more than once.
func (n *notices) stop() {
	if n == nil {
		return
	}
	n.cancel()
	n.sending.Wait()
	n.listen.stop()
}
