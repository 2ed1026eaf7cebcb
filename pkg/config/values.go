package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluice/sluice/pkg/domain"
)

// flagValue is the value of a flag. It takes precedence over the environment variable's value.
type flagValue struct {
	values map[string]string
	env    string
	bool   bool
}

func (f flagValue) String() string     { return f.values[f.env] }
func (f flagValue) Set(v string) error { f.values[f.env] = v; return nil }
func (f flagValue) IsBoolFlag() bool   { return f.bool }

func text(field *string) func(string) error {
	return func(v string) error { *field = v; return nil }
}

// listenAddress returns a function that parses a listen address (host:port) into the field. An empty value is also
// valid.
func listenAddress(field *string) func(string) error {
	return func(v string) error {
		if v == "" {
			*field = v
			return nil
		}
		if strings.Contains(v, "//") {
			return errors.New("must be host:port without a scheme, such as 127.0.0.1:8080")
		}
		host, port, err := net.SplitHostPort(v)
		if err != nil {
			if _, err := strconv.ParseUint(v, 10, 16); err == nil {
				return fmt.Errorf("must be host:port: write 127.0.0.1:%s for this machine only, or 0.0.0.0:%s for all addresses", v, v)
			}
			return errors.New("must be host:port, such as 127.0.0.1:8080 for this machine only, or 0.0.0.0:8080 for all addresses")
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("has the port %q: use a number from 0 to 65535", port)
		}
		if host == "*" {
			return fmt.Errorf("has the host *: write 0.0.0.0:%s to listen on all addresses", port)
		}
		if strings.Trim(host, ".0123456789") == "" && host != "" && net.ParseIP(host) == nil {
			return fmt.Errorf("has the host %q, which is not a valid IP address", host)
		}
		*field = v
		return nil
	}
}

// rejectQuotes rejects a quoted value. Unlike a shell, docker run --env-file doesn't remove quotes.
func rejectQuotes(v string) error {
	if len(v) > 1 && strings.ContainsRune("\"'`", rune(v[0])) && v[0] == v[len(v)-1] {
		return fmt.Errorf("is in quotes (%c…%c): remove them", v[0], v[0])
	}
	return nil
}

// oneLine rejects a secret with a line break, or with spaces around it. A value read from a file often ends with a line
// break. Such a secret cannot be sent in a header, and no server would accept it.
func oneLine(v string) error {
	switch {
	case strings.ContainsFunc(v, unicode.IsControl):
		return errors.New("contains a line break or control character: remove it")
	case strings.TrimSpace(v) != v:
		return errors.New("begins or ends with a space: remove it")
	}
	return nil
}

// Minimum and maximum length of a key in characters. Keys must be hard to guess and fit into a header.
const (
	minKey = 16
	maxKey = 512
)

// passphrase returns a function that sets the field to a secret of any characters, or "".
func passphrase(field *string) func(string) error {
	return func(v string) error {
		if v != "" && len(v) < minKey {
			return fmt.Errorf("has %d characters; use at least %d", len(v), minKey)
		}
		if len(v) > maxKey {
			return fmt.Errorf("has %d characters; use at most %d", len(v), maxKey)
		}
		*field = v
		return nil
	}
}

// key returns a function that sets the field to a secret of ASCII characters without spaces, or "".
func key(field *string) func(string) error {
	return func(v string) error {
		switch {
		case strings.HasPrefix(v, "Bearer "):
			return errors.New(`begins with "Bearer ": remove this prefix, clients add it`)
		case strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }):
			return errors.New("contains a space or a character outside ASCII: use letters, digits and punctuation, such as the output of openssl rand -hex 32")
		}
		return passphrase(field)(v)
	}
}

// Minimum length of an encryption key in characters.
const minSecretKey = 32

// secretKey returns a function that sets the field to an encryption key or "".
func secretKey(field *string) func(string) error {
	return func(v string) error {
		if v != "" && len(v) < minSecretKey {
			return fmt.Errorf("has %d characters; use at least %d random ones, such as the output of openssl rand -hex 32", len(v), minSecretKey)
		}
		*field = v
		return nil
	}
}

// httpAddress returns a function that sets the field to the address of an HTTP server or "".
func httpAddress(field *string) func(string) error {
	return func(v string) error {
		if v != "" {
			if u, err := url.Parse(v); err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
				return errors.New("must begin with http:// or https:// and name a host, such as http://localhost:11434/v1")
			}
		}
		*field = v
		return nil
	}
}

// httpAddresses returns a function that sets the field to a comma-separated list of addresses, which may be empty.
func httpAddresses(field *[]string) func(string) error {
	return func(v string) error {
		var list []string
		for item := range strings.SplitSeq(v, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			if u, err := url.Parse(item); err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
				return errors.New("must be addresses that begin with http:// or https:// and name a host, such as http://n1:8222,http://n2:8222")
			}
			list = append(list, item)
		}
		*field = list
		return nil
	}
}

// proxy returns a function that sets the field to a proxy's address or "". Its errors do not quote the address, which
// may contain a password.
func proxy(field *string) func(string) error {
	return func(v string) error {
		if v != "" {
			u, err := url.Parse(v)
			switch {
			case err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
				return errors.New("must be a proxy address without a path, such as http://proxy.example:3128 or socks5://proxy.example:1080")
			case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h":
				return fmt.Errorf("has the scheme %q: use http, https or socks5", u.Scheme)
			}
		}
		*field = v
		return nil
	}
}

// file returns a function that sets the field to the name of a readable file or "".
func file(field *string) func(string) error {
	return func(v string) error {
		if v != "" {
			f, err := os.Open(v)
			if err != nil {
				return fmt.Errorf("must be a readable file: %w", err)
			}
			f.Close()
		}
		*field = v
		return nil
	}
}

// names returns a function that adds a comma-separated list of host names, without ports, to the field.
func names(field *[]string) func(string) error {
	return func(v string) error {
		for name := range strings.SplitSeq(v, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case strings.ContainsAny(name, "/: "):
				return fmt.Errorf("%q must be a host name without a scheme or port", name)
			default:
				*field = append(*field, name)
			}
		}
		return nil
	}
}

// origins returns a function that sets the field to a comma-separated list of web origins.
func origins(field *[]string) func(string) error {
	return func(v string) error {
		*field = nil
		for text := range strings.SplitSeq(v, ",") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			origin, err := domain.ParseOrigin(text)
			if err != nil {
				return fmt.Errorf("an origin %w", err)
			}
			*field = append(*field, origin)
		}
		return nil
	}
}

func enum(field *string, allowed ...string) func(string) error {
	return func(v string) error {
		for _, a := range allowed {
			if v == a {
				*field = v
				return nil
			}
		}
		return fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
	}
}

func boolean(field *bool) func(string) error {
	return func(v string) (err error) {
		if *field, err = strconv.ParseBool(v); err != nil {
			return errors.New("must be true or false")
		}
		return nil
	}
}

func number(field *int, low, high int) func(string) error {
	return func(v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("must be a whole number between %d and %d", low, high)
		}
		*field = n
		return nil
	}
}

func number64(field *int64) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return errors.New("must be a whole number, 0 or greater")
		}
		*field = n
		return nil
	}
}

func duration(field *time.Duration) func(string) error {
	return func(v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return errors.New("must be a positive duration, such as 30s or 5m")
		}
		*field = d
		return nil
	}
}

// delay returns a function that sets the field to a duration, which may be zero.
func delay(field *time.Duration) func(string) error {
	return func(v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return errors.New("must be a duration, such as 200ms, or 0s for none")
		}
		*field = d
		return nil
	}
}

// Minimum retention of conversations, so that a typo does not delete conversations in progress.
const minRetention = time.Hour

// retention returns a function that sets the field to a duration, optionally in days. 0 means forever.
func retention(field *time.Duration) func(string) error {
	return func(v string) error {
		const day = 24 * time.Hour
		var d time.Duration
		var err error
		if digits, inDays := strings.CutSuffix(v, "d"); inDays {
			var days int
			if days, err = strconv.Atoi(digits); days > 36500 {
				return errors.New("must be at most 36500d; 0 keeps conversations forever")
			}
			d = time.Duration(days) * day
		} else {
			d, err = time.ParseDuration(v)
		}
		if err != nil || d < 0 || d > 0 && d < minRetention {
			return fmt.Errorf("must be a number of days such as 90d, a duration of at least %s such as 36h, or 0 to keep conversations forever", minRetention)
		}
		*field = d
		return nil
	}
}

func size(field *Bytes, low int64) func(string) error {
	return func(v string) error {
		n, err := ParseBytes(v)
		if err == nil && int64(n) < low {
			err = fmt.Errorf("must be at least %s", Bytes(low))
		}
		if err == nil {
			*field = n
		}
		return err
	}
}

// sizeOrNone returns a function that sets the field to a size that is 0 or at least `low`.
func sizeOrNone(field *Bytes, low int64) func(string) error {
	return func(v string) error {
		if err := size(field, low)(v); err != nil {
			none, noSize := ParseBytes(v)
			if noSize != nil || none != 0 {
				return err
			}
			*field = 0
		}
		return nil
	}
}

// languages returns a function that sets the field to a comma-separated list of languages by Tesseract's names.
func languages(field *[]string) func(string) error {
	return func(v string) error {
		var names []string
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			if !domain.IsOCRLanguage(name) {
				return fmt.Errorf("%q must be a name that tesseract --list-langs prints, such as deu or chi_sim", name)
			}
			names = append(names, name)
		}
		*field = names
		return nil
	}
}
