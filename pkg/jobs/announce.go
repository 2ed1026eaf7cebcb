package jobs

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/sluice/sluice/pkg/domain"
)

// prefixAnnounce begins the subjects of announcements, which no stream keeps.
const prefixAnnounce = "announce"

// announcementsWaiting is how many announcements wait for a listener that is busy. What comes beyond is dropped.
const announcementsWaiting = 4096

// Announce tells all listeners, in whatever process, that something about a datasource has changed. It waits for nobody:
// those that are busy, and everyone while the connection is lost, are not told. Ids that are none are told to nobody.
func (b *Broker) Announce(datastoreID, datasourceID string) {
	if checkIDs(datastoreID, datasourceID) != nil || !b.conn.nc.IsConnected() { // old news in a buffer would help nobody
		return
	}
	if err := b.conn.nc.Publish(prefixAnnounce+"."+datastoreID, []byte(datasourceID)); err != nil {
		b.log.Debug("an announcement is lost", "datastore", datastoreID, "datasource", datasourceID, "error", err)
	}
}

// Announcements calls f with every announcement that arrives, those of this process included, one at a time and those of
// one process in its order, until ctx ends; then it returns nil. While f is busy for long, or the connection is lost,
// announcements are lost: they are hints to look again.
func (b *Broker) Announcements(ctx context.Context, f func(datastoreID, datasourceID string)) error {
	messages := make(chan *nats.Msg, announcementsWaiting)
	sub, err := b.conn.nc.ChanSubscribe(prefixAnnounce+".*", messages)
	if err != nil {
		return fmt.Errorf("listening to announcements: %w", err)
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
