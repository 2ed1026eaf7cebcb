package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// InProcess is a NATS server within this process, such as natsd.Server.
type InProcess interface {
	InProcessConn() (net.Conn, error)
	Token() string // what the server asks of a connection, "" if nothing
}

// ConnectOptions say where the NATS server is and who is asking. Either InProcess or URL must be set.
type ConnectOptions struct {
	InProcess InProcess // takes precedence over URL
	URL       string    // one or more addresses parted by commas: "nats://host:4222"; may carry user and password
	Token     string    // of the server at URL, if it asks for one
	CredsFile string    // path of a NATS credentials file, if the server asks for one
	Name      string    // shown in the server's monitoring; default "sluice"
	// RequestTimeout bounds every request whose context has no deadline. Default 10 s.
	RequestTimeout time.Duration
	Log            *slog.Logger // default slog.Default
}

// Conn is a connection to NATS that mends itself. It is safe for concurrent use.
type Conn struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	timeout time.Duration
	closed  chan struct{} // closed once the client has shut down
	log     *slog.Logger
}

// reconnectWait is the pause between attempts to reach the server, with up to as much jitter.
const reconnectWait = 250 * time.Millisecond

// Connect reaches the server, trying again until ctx ends. Later losses of the connection are mended without end.
func Connect(ctx context.Context, o ConnectOptions) (*Conn, error) {
	if o.InProcess == nil && o.URL == "" {
		return nil, fmt.Errorf("connecting to NATS: neither an address nor a server in this process is given")
	}
	if o.Name == "" {
		o.Name = "sluice"
	}
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Conn{timeout: o.RequestTimeout, closed: make(chan struct{}), log: o.Log}
	var err error
	for {
		if c.nc, err = nats.Connect(o.URL, c.options(o)...); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connecting to NATS: %w (last attempt: %w)", ctx.Err(), err)
		case <-time.After(reconnectWait):
		}
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(o.RequestTimeout)); err != nil {
		c.Close()
		return nil, fmt.Errorf("opening JetStream: %w", err)
	}
	return c, nil
}

func (c *Conn) options(o ConnectOptions) []nats.Option {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.Timeout(5 * time.Second),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: we closed it ourselves
				c.log.Warn("connection to NATS lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.log.Info("connection to NATS restored") }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			c.log.Warn("NATS reports an error", "error", err, "subject", subject)
		}),
	}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess))
		o.Token = o.InProcess.Token()
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.CredsFile != "" {
		opts = append(opts, nats.UserCredentials(o.CredsFile))
	}
	return opts
}

// JetStream gives package originals its way in.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Ready reports whether the server answers and JetStream is enabled.
func (c *Conn) Ready(ctx context.Context) error {
	if _, err := c.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("asking JetStream for its state: %w", err)
	}
	return nil
}

// Close flushes what was sent and ends the connection. It may be called twice.
func (c *Conn) Close() {
	if !c.nc.IsClosed() {
		// A server that is gone must not hold up the end.
		_ = c.nc.FlushTimeout(time.Second)
	}
	c.nc.Close()
	<-c.closed
}
