package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// InProcess is a NATS server within this process, such as natsd.Server.
type InProcess interface {
	InProcessConn() (net.Conn, error)
	Token() string // what the server asks of a connection, "" if nothing
}

// ConnectOptions say where the NATS servers are and who is asking. Either InProcess or URL must be set.
type ConnectOptions struct {
	InProcess InProcess // takes precedence over URL
	// URL is one or more addresses parted by commas: "nats://host:4222", or "tls://host:4222" where nothing may be sent
	// in the clear. They may carry user and password. Servers of the same cluster that are not named are found.
	URL       string
	Token     string // of the servers at URL, if they ask for one
	CredsFile string // path of a NATS credentials file (JWT and seed), if the servers ask for one
	CAFile    string // path of the PEM file of the authority that signed the servers' certificates; "": the system's
	CertFile  string // path of the PEM file of the client's certificate, with KeyFile, if the servers ask for one
	KeyFile   string
	Name      string // shown in the servers' monitoring; default "sluice"
	// StartTimeout bounds the first connection: servers may start after their clients. Default 1 min.
	StartTimeout time.Duration
	// RequestTimeout bounds every request whose context has no deadline. Default 10 s.
	RequestTimeout time.Duration
	Log            *slog.Logger // default slog.Default
}

func (o ConnectOptions) withDefaults() ConnectOptions {
	if o.Name == "" {
		o.Name = "sluice"
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = time.Minute
	}
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Conn is a connection to NATS that mends itself. It is safe for concurrent use.
type Conn struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	closed chan struct{} // closed once the client has shut down
	log    *slog.Logger
}

const (
	// connectWait is the pause between the first attempts to reach a server.
	connectWait = 250 * time.Millisecond
	// pingInterval and maxPings say when a server that does not answer is given up for another: one whose machine is gone
	// does not close its connections.
	pingInterval = 4 * time.Second
	maxPings     = 2
	// silentStart is how long a server without JetStream may turn out to have it after all.
	silentStart = 2 * time.Second
)

// reconnects is the pause between rounds through the servers after a connection was lost. Its jitter keeps the whole fleet
// from coming back at one moment.
var reconnects = backoff{min: 200 * time.Millisecond, max: 4 * time.Second}

// Connect reaches a server, trying again for as long as StartTimeout and ctx allow. It fails at once when trying again
// cannot help: ErrRefused if the servers do not accept who is asking or how, or if they are not fit. Every error names the
// servers, without secrets, and the way out. Later losses of the connection are mended without end.
func Connect(ctx context.Context, o ConnectOptions) (*Conn, error) {
	o = o.withDefaults()
	c := &Conn{closed: make(chan struct{}), log: o.Log}
	opts, err := c.options(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	for told := false; ; {
		if c.nc, err = nats.Connect(o.URL, opts...); err == nil {
			break
		}
		if err = explain(err, o); isRefusal(err) {
			return nil, err
		}
		if !told {
			told = true
			c.log.Warn("NATS is not reached yet and tried again", "error", err, "for", o.StartTimeout)
		}
		wait(ctx, reconnects.jitter(connectWait))
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
	if err := c.openJetStream(ctx, o); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) openJetStream(ctx context.Context, o ConnectOptions) (err error) {
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(o.RequestTimeout)); err != nil {
		return fmt.Errorf("opening JetStream: %w", err)
	}
	if o.InProcess != nil {
		return nil // made for us
	}
	if version := c.nc.ConnectedServerVersion(); !fitVersion(version) {
		return fmt.Errorf("%w: NATS at %s is of version %s, and %s or later is needed: upgrade it", ErrRefused, addresses(o.URL), version, minVersion)
	}
	// A cluster that has just started elects who answers, and until then nobody does, as if there were no JetStream.
	began := time.Now()
	err = quorum.Do(ctx, o.StartTimeout, func(ctx context.Context) error {
		_, err := c.js.AccountInfo(ctx)
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) && time.Since(began) < silentStart {
			return fmt.Errorf("%w: %w", quorum.ErrUnavailable, err)
		}
		return err
	})
	if err != nil {
		return explain(fmt.Errorf("asking for JetStream: %w", err), o)
	}
	return nil
}

func (c *Conn) options(o ConnectOptions) ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(func(rounds int) time.Duration { return reconnects.delay(rounds) }),
		nats.IgnoreAuthErrorAbort(), // credentials that are being changed must not end the process's only connection
		nats.Timeout(5 * time.Second),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: we closed it ourselves
				c.log.Warn("connection to NATS lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.log.Info("connection to NATS restored", "server", nc.ConnectedServerName(), "losses", nc.Stats().Reconnects)
		}),
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
		if token := o.InProcess.Token(); token != "" {
			opts = append(opts, nats.Token(token))
		}
		return opts, nil
	}
	identity, err := o.identity()
	return append(opts, identity...), err
}

// JetStream gives package originals its way in.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Ready reports whether a server answers and JetStream is enabled.
func (c *Conn) Ready(ctx context.Context) error {
	if _, err := c.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("asking JetStream for its state: %w", err)
	}
	return nil
}

// Close flushes what was sent and ends the connection. It may be called twice.
func (c *Conn) Close() {
	if c.nc.IsConnected() {
		// A server that is gone must not hold up the end.
		_ = c.nc.FlushTimeout(time.Second)
	}
	c.nc.Close()
	<-c.closed
}
