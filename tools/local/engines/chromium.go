package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// chromiumNames are the names under which Chromium is installed.
var chromiumNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell", "chrome-headless-shell"}

// errNoChromium says what to do where none can be had by itself.
var errNoChromium = errors.New("there is no Chromium in PATH, and only root of a system with apt-get is given one: " +
	"install chromium, or give the path of a Chromium in " + EnvChromium)

// installing is held while a package is being installed: apt-get waits for another one at some of its work only.
var installing sync.Mutex

// chromiumProgram returns the path of a Chromium: of the machine's own, or else of Debian's package, which root
// installs (some 350 MB with all that it needs). Who asks starts it himself; there is no server to share.
func chromiumProgram(ctx context.Context) (string, error) {
	installing.Lock()
	defer installing.Unlock()
	if path := findChromium(); path != "" {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", errNoChromium
	}
	if err := aptInstall(ctx, apt, "chromium"); err != nil {
		return "", fmt.Errorf("installing Chromium: %w", err)
	}
	if path := findChromium(); path != "" {
		return path, nil
	}
	return "", errNoChromium // the package of this name holds another thing, as Ubuntu's does
}

func findChromium() string {
	for _, name := range chromiumNames {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// aptInstall installs a package. The lists of packages are brought up to date only if the package is not there as
// they have it: on a fresh machine they are missing, on one that tests often it would cost time.
func aptInstall(ctx context.Context, apt, name string) error {
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, apt, append([]string{"-qq", "-y", "-o", "DPkg::Lock::Timeout=300"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			text := strings.TrimSpace(string(out))
			return fmt.Errorf("apt-get %s: %w: %s", args[0], err, text[max(0, len(text)-1000):])
		}
		return nil
	}
	if run("install", "--no-install-recommends", name) == nil {
		return nil
	}
	if err := run("update"); err != nil {
		return err
	}
	return run("install", "--no-install-recommends", name)
}
