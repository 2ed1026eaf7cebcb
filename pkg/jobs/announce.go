package jobs

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/sluice/sluice/pkg/domain"
)

// prefixAnnounce is the subject prefix for announcements. No stream stores them.
const prefixAnnounce = "announce"

// announcementsWaiting is the number of announcements buffered for a busy listener. Any beyond that are dropped.
const announcementsWaiting = 4096

// Announce notifies listeners in all processes that a datasource has changed. It never blocks. A busy listener may miss
// the announcement, and no listener receives it while the connection is down. Announce does nothing if an id is
// invalid.
func (b *Broker) Announce(datastoreID, datasourceID string) {
	if checkIDs(datastoreID, datasourceID) != nil || !b.conn.nc.IsConnected() { // the client would buffer stale notices
		return
	}
	if err := b.conn.nc.Publish(prefixAnnounce+"."+datastoreID, []byte(datasourceID)); err != nil {
		b.log.Debug("could not announce a change", "datastore", datastoreID, "datasource", datasourceID, "error", err)
	}
}

// Announcements calls f with each announcement, one at a time, and returns nil once ctx is done. f also receives this
// process's own announcements. Announcements from one process arrive in order. Some may be lost while f is busy or the
// connection is down, so treat each one only as a hint to read the datasource again.
func (b *Broker) Announcements(ctx context.Context, f func(datastoreID, datasourceID string)) error {
	messages := make(chan *nats.Msg, announcementsWaiting)
	sub, err := b.conn.nc.ChanSubscribe(prefixAnnounce+".*", messages)
	if err != nil {
		return fmt.Errorf("subscribing to announcements: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only once the connection is closed
	for {
		select {
		case <-ctx.Done():
			return nil
		case msg := <-messages:
			if id := string(msg.Data); domain.ValidID(id) {
				f(msg.Subject[len(prefixAnnounce)+1:], id)
			}
		}
	}
}
