package jobs

import (
	"cmp"
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

// InProcess is a NATS server embedded in this process, for example natsd.Server.
type InProcess interface {
	InProcessConn() (net.Conn, error)
	Token() string // token required by the server; "" if none
}

// ConnectOptions holds the NATS servers' addresses and the client's credentials. Either InProcess or URL must be set.
type ConnectOptions struct {
	InProcess InProcess // takes precedence over URL
	// URL holds one or more comma-separated addresses: "nats://host:4222", or "tls://host:4222" to require TLS. They
	// may include a user and password. Other servers in the same cluster are discovered.
	URL       string
	Token     string // for the servers at URL, if they require one
	CredsFile string // path to a NATS credentials file (JWT and seed), if the servers require one
	CAFile    string // path to a PEM file with the CA for the servers' certificates; "": the system's CAs
	CertFile  string // path to a PEM file with the client certificate, if the servers require one; needs KeyFile
	KeyFile   string
	Name      string // shown in server monitoring; default "sluice"
	// StartTimeout is how long Connect keeps trying to reach a server. It's needed because servers may start after
	// their clients. Default 1 min.
	StartTimeout time.Duration
	// RequestTimeout is the timeout for requests whose context has no deadline. Default 10 s.
	RequestTimeout time.Duration
	Log            *slog.Logger // default slog.Default
}

func (o ConnectOptions) withDefaults() ConnectOptions {
	o.Name = cmp.Or(o.Name, "sluice")
	if o.StartTimeout <= 0 {
		o.StartTimeout = time.Minute
	}
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 10 * time.Second
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

// Conn is a NATS connection that reconnects by itself. It is safe for concurrent use.
type Conn struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	closed chan struct{} // closed once the client has shut down
	log    *slog.Logger
}

const (
	// Pause between attempts to establish the first connection.
	connectWait = 250 * time.Millisecond
	// Interval between pings to the server. After maxPings unanswered pings, the client switches to another server.
	// Pings are needed because a machine that crashes does not close its connections.
	pingInterval = 4 * time.Second
	maxPings     = 2
	// How long Connect keeps retrying while a server reports JetStream as disabled.
	jetStreamStartTime = 2 * time.Second
)

// reconnectBackoff is the pause between two rounds of reconnecting; in each round, the client tries all servers. Jitter
// keeps the whole fleet from reconnecting at once.
var reconnectBackoff = backoff{min: 200 * time.Millisecond, max: 4 * time.Second}

// Connect connects to a server, retrying until StartTimeout has passed or ctx is done. It fails immediately with
// ErrRefused if retrying can't help: the servers reject the credentials or the TLS settings, are too old, or don't have
// JetStream enabled. Every error names the servers, without secrets, and says what to do. Once connected, the client
// reconnects by itself whenever the connection is lost and never gives up.
func Connect(ctx context.Context, o ConnectOptions) (*Conn, error) {
	o = o.withDefaults()
	c := &Conn{closed: make(chan struct{}), log: o.Log}
	opts, err := c.options(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	for logged := false; ; {
		if c.nc, err = nats.Connect(o.URL, opts...); err == nil {
			break
		}
		if err = explain(err, o); isRefusal(err) {
			return nil, err
		}
		if !logged {
			logged = true
			c.log.Warn("cannot reach NATS yet; retrying", "error", err, "for", o.StartTimeout)
		}
		wait(ctx, reconnectBackoff.jitter(connectWait))
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
		return nil // this program configures the embedded server itself
	}
	if version := c.nc.ConnectedServerVersion(); !isSupportedVersion(version) {
		return fmt.Errorf("%w: NATS at %s has version %s, but version %s or later is required: upgrade it", ErrRefused, addresses(o.URL), version, minVersion)
	}
	// Until a freshly started cluster has elected a leader, it responds as if JetStream were disabled.
	began := time.Now()
	err = quorum.Retry(ctx, o.StartTimeout, func(ctx context.Context) error {
		_, err := c.js.AccountInfo(ctx)
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) && time.Since(began) < jetStreamStartTime {
			return fmt.Errorf("%w: %w", quorum.ErrUnavailable, err)
		}
		return err
	})
	if err != nil {
		return explain(fmt.Errorf("checking for JetStream: %w", err), o)
	}
	return nil
}

func (c *Conn) options(o ConnectOptions) ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(func(rounds int) time.Duration { return reconnectBackoff.delay(rounds) }),
		nats.IgnoreAuthErrorAbort(), // rotating credentials must not close the process's only connection
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
			c.log.Warn("error on the NATS connection", "error", err, "subject", subject)
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

// JetStream returns the JetStream client, for package originals.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Ready returns nil if a server responds and JetStream is enabled.
func (c *Conn) Ready(ctx context.Context) error {
	if _, err := c.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("reading the JetStream account: %w", err)
	}
	return nil
}

// Close flushes outgoing messages and closes the connection. Calling it twice is safe.
func (c *Conn) Close() {
	if c.nc.IsConnected() {
		// Limit the wait: an unreachable server must not block the shutdown.
		_ = c.nc.FlushTimeout(time.Second)
	}
	c.nc.Close()
	<-c.closed
}
