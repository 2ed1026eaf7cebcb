package render

import (
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

// The browser must not access the network by itself, so it is configured to use a proxy that doesn't exist: nothing
// listens on port 9, the discard port.
const (
	unusableProxy = "http://127.0.0.1:9"
	// proxyLoopback sends requests for loopback addresses to the proxy, too. By default, Chromium connects to them
	// directly.
	proxyLoopback = "<-loopback>"
)

// Window size in pixels. The window is tall so that pages also load content that they would otherwise load only when
// scrolled.
const (
	windowWidth  = 1280
	windowHeight = 2400
)

// switches are a local Chromium's flags.
var switches = []struct {
	name  string
	value any
}{
	{"headless", true},
	{"hide-scrollbars", true},
	{"mute-audio", true},
	{"no-first-run", true},
	{"no-default-browser-check", true},
	{"no-service-autorun", true},
	{"no-startup-window", true},
	{"password-store", "basic"},
	{"use-mock-keychain", true},

	// Deny all network access, whatever the page or the browser requests.
	{"proxy-server", unusableProxy},
	{"proxy-bypass-list", proxyLoopback},
	{"host-resolver-rules", "MAP * ~NOTFOUND"},
	{"webrtc-ip-handling-policy", "disable_non_proxied_udp"},
	{"force-webrtc-ip-handling-policy", "disable_non_proxied_udp"},
	{"disable-quic", true},
	{"dns-prefetch-disable", true},
	{"disable-background-networking", true},
	{"disable-component-update", true},
	{"disable-component-extensions-with-background-pages", true},
	{"disable-domain-reliability", true},
	{"disable-client-side-phishing-detection", true},
	{"disable-sync", true},
	{"disable-default-apps", true},
	{"disable-extensions", true},
	{"disable-breakpad", true},
	{"disable-crash-reporter", true},
	{"metrics-recording-only", true},
	{"no-pings", true},

	// Turn off windows, permissions and other features a page could ask for.
	{"block-new-web-contents", true},
	{"deny-permission-prompts", true},
	{"disable-notifications", true},
	{"disable-file-system", true},

	// Save memory by running a page and its frames in one process. They don't need protection from each other, because
	// a page starts without cookies or storage and can access only public content.
	{"disable-site-isolation-trials", true},
	{"disable-features", "IsolateOrigins,site-per-process,IsolateSandboxedIframes,SpareRendererForSitePerProcess,Translate,MediaRouter,OptimizationHints,BackForwardCache," +
		"AcceptCHFrame,DialMediaRouteProvider,InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater"},
	{"js-flags", "--max-old-space-size=256"},
	{"disable-gpu", true},
	{"disable-dev-shm-usage", true},

	// Run pages as if they were visible.
	{"disable-background-timer-throttling", true},
	{"disable-backgrounding-occluded-windows", true},
	{"disable-renderer-backgrounding", true},
}

// localOptions returns the options for a local browser that stores all files in `dir`.
func localOptions(path, dir string, asRoot bool) []chromedp.ExecAllocatorOption {
	o := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.WindowSize(windowWidth, windowHeight),
		chromedp.ModifyCmdFunc(setProcess),
		// The browser must not inherit this process's environment, which contains secrets. Its home and temporary
		// directories are deleted along with dir.
		chromedp.NoInheritEnv,
		chromedp.Env("PATH="+os.Getenv("PATH"), "HOME="+dir, "TMPDIR="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir,
			"XDG_RUNTIME_DIR="+dir, "LANG=C.UTF-8", "TZ=UTC", "DBUS_SESSION_BUS_ADDRESS=disabled:"),
		// If this flag isn't set, chromedp chooses its value. Chromium refuses to run as root with its sandbox, so the
		// sandbox is off only for root.
		chromedp.Flag("no-sandbox", asRoot),
	}
	for _, s := range switches {
		o = append(o, chromedp.Flag(s.name, s.value))
	}
	return o
}
