package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

// Timeout for starting a browser, up to its first response.
const startTimeout = 30 * time.Second

type instance struct {
	ctx     context.Context // chromedp's context; ends when the browser exits or the connection is lost
	end     func()          // terminates the browser and waits for it
	browser *chromedp.Browser

	// The fields below are guarded by the Browser's lock.
	users   int  // pages being rendered
	pages   int  // pages rendered or being rendered
	retired bool // gets no new pages; the last user stops it
}

// isAlive reports whether the browser is running and connected. It doesn't rely on ctx alone: when a browser dies, the
// connection is lost at once, but ctx is done only after the process has exited.
func (i *instance) isAlive() bool {
	select {
	case <-i.browser.LostConnection:
		return false
	default:
		return i.ctx.Err() == nil
	}
}

// start starts a browser or connects to a running one. The instance lives until ctx is done or it is stopped.
func (b *Browser) start(ctx context.Context) (*instance, error) {
	if b.opts.URL != "" {
		return b.connect(ctx)
	}
	dir, err := makeProfile(b.opts.TempDir)
	if err != nil {
		return nil, err
	}
	asRoot := os.Geteuid() == 0
	if asRoot {
		b.warned.Do(func() {
			b.opts.Log.Warn("Chromium runs without its sandbox because this process runs as root; run it as another user, or set CHROME_URL to a browser in a separate container")
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	actx, stop := chromedp.NewExecAllocator(ctx, localOptions(b.opts.Path, dir.Path(), asRoot)...)
	i, err := b.attach(actx, cancel)
	if err != nil {
		cancel()
		stop()
		return nil, errors.Join(fmt.Errorf("starting %s: %w", b.opts.Path, err), dir.Remove())
	}
	i.end = func() {
		cancel()
		stop()
		killGroup(i.browser.Process())
		if err := dir.Remove(); err != nil {
			b.opts.Log.Warn("removing the profile of a browser failed", "dir", dir.Path(), "error", err)
		}
	}
	return i, nil
}

func (b *Browser) connect(ctx context.Context) (*instance, error) {
	socket, err := socketURL(ctx, b.opts.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	actx, stop := remote.NewAllocator(ctx, socket, remote.NoModifyURL)
	i, err := b.attach(actx, cancel)
	if err != nil {
		cancel()
		stop()
		return nil, fmt.Errorf("connecting to the browser: %w", err)
	}
	i.end = func() {
		cancel()
		stop()
	}
	b.checkPolicy(i)
	return i, nil
}

// udpPolicy is the flag that keeps WebRTC off the network. As a second measure, restrictionScript removes WebRTC from
// pages, but not from frames that run in their own process.
const udpPolicy = "--webrtc-ip-handling-policy=disable_non_proxied_udp"

// checkPolicy logs a warning if a remote browser runs without udpPolicy.
func (b *Browser) checkPolicy(i *instance) {
	ctx, cancel := context.WithTimeout(i.ctx, endpointTimeout)
	defer cancel()
	info, err := cdp.Call(ctx, i.browser, systeminfo.GetInfo, cdp.Empty{})
	if err == nil && strings.Contains(info.CommandLine, udpPolicy) {
		return
	}
	b.warned.Do(func() {
		b.opts.Log.Warn("pages can send UDP packets from the browser's machine; start the browser with " + udpPolicy + ", or isolate its network")
	})
}

// attach starts a browser or connects to a running one, depending on actx's allocator, and waits for its first
// response. After startTimeout, it gives up and calls `cancel`, which must cancel actx.
func (b *Browser) attach(actx context.Context, cancel context.CancelFunc) (*instance, error) {
	debug := func(format string, args ...any) {
		b.opts.Log.Debug("browser", "message", fmt.Sprintf(format, args...))
	}
	ictx, _ := chromedp.NewContext(actx, chromedp.WithLogf(debug), chromedp.WithErrorf(debug)) // ended by the allocator's context
	late := time.AfterFunc(startTimeout, cancel)
	err := chromedp.ListenBrowser(ictx, func(any) {})
	if !late.Stop() && err == nil {
		err = fmt.Errorf("no answer within %s", startTimeout)
	}
	if err != nil {
		return nil, err
	}
	return &instance{ctx: ictx, browser: chromedp.FromContext(ictx).Browser}, nil
}
