package render

import (
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

// A proxy that does not exist: nothing serves the discard port. It is all the network that the browser has.
const (
	deadProxy = "http://127.0.0.1:9"
	// bypassNobody sends addresses of this machine to the proxy too, which Chromium else reaches directly.
	bypassNobody = "<-loopback>"
)

// Size of the window. It is high so that what is loaded by scrolling is loaded.
const (
	windowWidth  = 1280
	windowHeight = 2400
)

// switches start a Chromium that serves nobody but us.
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

	// No network of its own, whatever the page or the browser itself wants.
	{"proxy-server", deadProxy},
	{"proxy-bypass-list", bypassNobody},
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

	// Nothing that a page could open or ask for.
	{"block-new-web-contents", true},
	{"deny-permission-prompts", true},
	{"disable-notifications", true},
	{"disable-file-system", true},

	// Little memory: one process for a page with its frames. They need no protection from one another, because a page
	// begins without cookies or storage and can be given nothing that is not public.
	{"disable-site-isolation-trials", true},
	{"disable-features", "IsolateOrigins,site-per-process,IsolateSandboxedIframes,SpareRendererForSitePerProcess,Translate,MediaRouter,OptimizationHints,BackForwardCache," +
		"AcceptCHFrame,DialMediaRouteProvider,InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater"},
	{"js-flags", "--max-old-space-size=256"},
	{"disable-gpu", true},
	{"disable-dev-shm-usage", true},

	// Pages work as if they were looked at.
	{"disable-background-timer-throttling", true},
	{"disable-backgrounding-occluded-windows", true},
	{"disable-renderer-backgrounding", true},
}

// localOptions are the options of a local browser that keeps everything in the directory.
func localOptions(path, dir string, asRoot bool) []chromedp.ExecAllocatorOption {
	o := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.WindowSize(windowWidth, windowHeight),
		chromedp.ModifyCmdFunc(setProcess),
		// Our environment holds secrets; and what the browser leaves in a home or temporary directory goes with ours.
		chromedp.NoInheritEnv,
		chromedp.Env("PATH="+os.Getenv("PATH"), "HOME="+dir, "TMPDIR="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir,
			"XDG_RUNTIME_DIR="+dir, "LANG=C.UTF-8", "TZ=UTC", "DBUS_SESSION_BUS_ADDRESS=disabled:"),
		// Without it chromedp decides; the sandbox stays on wherever Chromium can have it.
		chromedp.Flag("no-sandbox", asRoot),
	}
	for _, s := range switches {
		o = append(o, chromedp.Flag(s.name, s.value))
	}
	return o
}
