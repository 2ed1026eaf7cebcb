package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/crawl/weburl"
)

// Allow lists addresses, ranges and hosts outside the public internet that the crawler may access. The zero value is
// empty; use ParseAllow to create other lists.
type Allow struct {
	prefixes []netip.Prefix
	hosts    map[string]bool // lower-case ASCII without a final dot
	domains  []string        // ".intranet.example", for all subdomains
}

// Maximum number of entries. Each entry is compared with every address that the crawler connects to.
const maxAllowed = 1_000

// ParseAllow parses a list of addresses ("10.1.2.3", "fd00::7"), ranges ("10.1.0.0/16"), host names
// ("wiki.intranet.example") and wildcards for subdomains ("*.intranet.example"). It ignores empty entries. Connections
// to a host allowed by name may use any private address.
//
// No entry can allow link-local addresses (which include cloud metadata services), multicast addresses or tunnels. An
// entry that contains nothing else is an error.
func ParseAllow(list []string) (Allow, error) {
	if len(list) > maxAllowed {
		return Allow{}, fmt.Errorf("the list has %d entries; the limit is %d", len(list), maxAllowed)
	}
	a := Allow{hosts: make(map[string]bool)}
	for _, entry := range list {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if err := a.add(entry); err != nil {
			return Allow{}, fmt.Errorf("%.300q %w", entry, err)
		}
	}
	return a, nil
}

func (a *Allow) add(entry string) error {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		return a.addPrefix(prefix)
	}
	if ip, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		if ip.Zone() != "" {
			return errors.New("is a link-local address, which cannot be allowed")
		}
		return a.addPrefix(netip.PrefixFrom(ip, ip.BitLen()))
	}
	return a.addHost(entry)
}

func (a *Allow) addPrefix(p netip.Prefix) error {
	if p != p.Masked() {
		return fmt.Errorf("has bits set beyond the prefix length; write %s", p.Masked())
	}
	if ip := p.Addr(); ip.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(ip.Unmap(), p.Bits()-96)
	}
	for _, s := range specialRanges {
		if s.prefix.Bits() <= p.Bits() && s.prefix.Contains(p.Addr()) {
			if s.exemption == noExemption {
				return fmt.Errorf("is %s, which cannot be allowed", s.reason)
			}
			break // the first range that contains an address decides
		}
	}
	if nat64.Overlaps(p) && p.Bits() >= nat64.Bits() || sixToFour.Overlaps(p) && p.Bits() >= sixToFour.Bits() {
		return errors.New("contains an IPv4 address; list the IPv4 address itself")
	}
	a.prefixes = append(a.prefixes, p)
	return nil
}

func (a *Allow) addHost(entry string) error {
	name, below := strings.CutPrefix(entry, "*.")
	switch {
	case entry == "*":
		return errors.New("would allow every host; to allow all private addresses, set SLUICE_ALLOW_PRIVATE_ADDRESSES=true")
	case strings.Contains(name, "*"):
		return errors.New(`has a "*" that is not at the beginning; write it as in "*.intranet.example"`)
	case strings.Contains(name, "://"):
		return errors.New("is a URL; write only the host")
	case strings.Contains(name, "/"):
		return errors.New(`is neither a host nor an address range such as "10.1.0.0/16"`)
	case strings.ContainsAny(name, "@?#\\ \t\r\n%"):
		return errors.New("is not a host name")
	}
	u, err := weburl.Parse("http://" + name + "/")
	if err != nil {
		return errors.New("is neither a host name nor an address")
	}
	if u.Port() != "" || strings.Contains(name, ":") {
		return errors.New("has a port; write only the host")
	}
	if ip, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]")); err == nil {
		return fmt.Errorf("is an unusual form of an address; write it as %s", ip)
	}
	if below {
		a.domains = append(a.domains, "."+u.Hostname())
	} else {
		a.hosts[u.Hostname()] = true
	}
	return nil
}

func (a Allow) contains(ip netip.Addr) bool {
	return slices.ContainsFunc(a.prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// allowsName reports whether the list allows the host by name.
func (a Allow) allowsName(host string) bool {
	if len(a.hosts) == 0 && len(a.domains) == 0 {
		return false
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a.hosts[host] {
		return true
	}
	for _, d := range a.domains {
		if len(host) > len(d) && strings.HasSuffix(host, d) {
			return true
		}
	}
	return false
}
