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

// chromiumNames lists the program names to look for.
var chromiumNames = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell", "chrome-headless-shell"}

// errNoChromium says how to install Chromium where that isn't automatic.
var errNoChromium = errors.New("there is no Chromium in PATH, and it can be installed only by root on a system with apt-get: " +
	"install chromium, or give the path of a Chromium in " + EnvChromium)

// installing serialises installations, because not all of apt-get's steps wait for other instances.
var installing sync.Mutex

// chromiumProgram returns the path to Chromium. If there is none and the user is root, it installs Debian's package
// (about 350 MB with dependencies). Callers start Chromium themselves; there is no shared server.
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
	return "", errNoChromium // as on Ubuntu, where the package has no Chromium
}

func findChromium() string {
	for _, name := range chromiumNames {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// aptInstall installs a package. Updating the package lists takes time, so it does that only if the existing ones don't
// work.
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
