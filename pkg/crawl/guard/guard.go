// Package guard decides by scheme, port and address what the crawler may connect to. It checks before a request and
// again when connecting. Package crawl uses it for every connection.
package guard

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// Guard decides which addresses are allowed. The dialer calls it for every connection, after name resolution, with the
// socket's actual address. It therefore cannot be bypassed by unusual notations, redirects or changing DNS answers.
type Guard struct {
	AllowPrivate bool                       // allow everything that configuration can allow
	Allow        Allow                      // individually allowed addresses and hosts
	ownAddrs     func() ([]net.Addr, error) // returns this machine's addresses; nil queries the system
}

// RefusedError reports a refused target and why it was refused.
type RefusedError struct {
	target  string
	reason  string
	private bool // configuration can allow it
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s is %s, which the crawler does not connect to", e.target, e.reason)
	if e.private {
		text += "; the operator can allow it with SLUICE_CRAWL_ALLOW, or all private addresses with" +
			" SLUICE_ALLOW_PRIVATE_ADDRESSES=true"
	}
	return text
}

// exemption says whether and how the configuration can allow addresses in a special range.
type exemption int

const (
	noExemption     exemption = iota // no web sites, only targets for attacks
	exemptByAddress                  // by listing addresses in Options.Allow
	exemptByEither                   // by listing addresses, or with Options.AllowPrivate
)

// specialRange is a range outside the public internet.
type specialRange struct {
	prefix    netip.Prefix
	exemption exemption
	reason    string
}

const (
	reasonLoopback   = "an address of this machine"
	reasonPrivate    = "a private address"
	reasonLinkLocal  = "a link-local address (cloud metadata services live there)"
	reasonMetadata   = "a cloud metadata service"
	reasonReserved   = "a reserved address"
	reasonMulticast  = "a multicast address"
	reasonTunnel     = "a tunnel address"
	reasonUnassigned = "an unspecified address"
)

// specialRanges are the ranges in IANA's IPv4 and IPv6 special-purpose registries, plus known metadata services.
var specialRanges = []specialRange{
	{netip.MustParsePrefix("127.0.0.0/8"), exemptByEither, reasonLoopback},
	{netip.MustParsePrefix("::1/128"), exemptByEither, reasonLoopback},
	{netip.MustParsePrefix("100.100.100.200/32"), noExemption, reasonMetadata},
	{netip.MustParsePrefix("192.0.0.192/32"), noExemption, reasonMetadata},
	{netip.MustParsePrefix("168.63.129.16/32"), noExemption, reasonMetadata},
	{netip.MustParsePrefix("fd00:ec2::254/128"), noExemption, reasonMetadata},
	{netip.MustParsePrefix("fd20:ce::254/128"), noExemption, reasonMetadata},
	{netip.MustParsePrefix("10.0.0.0/8"), exemptByEither, reasonPrivate},
	{netip.MustParsePrefix("172.16.0.0/12"), exemptByEither, reasonPrivate},
	{netip.MustParsePrefix("192.168.0.0/16"), exemptByEither, reasonPrivate},
	{netip.MustParsePrefix("100.64.0.0/10"), exemptByEither, reasonPrivate},
	{netip.MustParsePrefix("fc00::/7"), exemptByEither, reasonPrivate},
	{netip.MustParsePrefix("169.254.0.0/16"), noExemption, reasonLinkLocal},
	{netip.MustParsePrefix("fe80::/10"), noExemption, reasonLinkLocal},
	{netip.MustParsePrefix("::/96"), noExemption, reasonUnassigned},       // embeds IPv4 addresses; deprecated
	{netip.MustParsePrefix("::ffff:0:0:0/96"), noExemption, reasonTunnel}, // translated IPv4, RFC 2765
	{netip.MustParsePrefix("64:ff9b:1::/48"), noExemption, reasonTunnel},  // NAT64 within a network, RFC 8215
	{netip.MustParsePrefix("fec0::/10"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("0.0.0.0/8"), noExemption, reasonUnassigned},
	{netip.MustParsePrefix("255.255.255.255/32"), noExemption, reasonUnassigned},
	{netip.MustParsePrefix("192.0.0.0/24"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("192.0.2.0/24"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("192.31.196.0/24"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("192.52.193.0/24"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("192.88.99.0/24"), noExemption, reasonTunnel},
	{netip.MustParsePrefix("192.175.48.0/24"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("198.18.0.0/15"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("198.51.100.0/24"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("203.0.113.0/24"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("224.0.0.0/4"), noExemption, reasonMulticast},
	{netip.MustParsePrefix("240.0.0.0/4"), exemptByAddress, reasonReserved},
	{netip.MustParsePrefix("ff00::/8"), noExemption, reasonMulticast},
	{netip.MustParsePrefix("2001::/32"), noExemption, reasonTunnel},           // Teredo
	{netip.MustParsePrefix("2001::/23"), exemptByAddress, reasonReserved},     // protocol assignments
	{netip.MustParsePrefix("2001:db8::/32"), exemptByAddress, reasonReserved}, // documentation
	{netip.MustParsePrefix("3fff::/20"), exemptByAddress, reasonReserved},     // documentation
}

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
	global6   = netip.MustParsePrefix("2000::/3") // all global unicast addresses of IPv6
)

// checkIP rejects addresses outside the public internet. If an address embeds an IPv4 address, only the embedded
// address is checked.
func (g Guard) checkIP(ip netip.Addr) error {
	why := g.refusal(ip)
	if why == "" {
		return nil
	}
	return &RefusedError{target: ip.String(), reason: why, private: why == reasonLoopback || why == reasonPrivate}
}

func (g Guard) refusal(ip netip.Addr) string {
	if ip.Zone() != "" {
		return reasonLinkLocal
	}
	ip = ip.Unmap()
	if !ip.IsValid() {
		return reasonReserved
	}
	for _, s := range specialRanges {
		if s.prefix.Contains(ip) {
			if s.exemption == exemptByEither && g.AllowPrivate || s.exemption != noExemption && g.Allow.contains(ip) {
				return ""
			}
			return s.reason
		}
	}
	if ip.Is4() {
		return ""
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip):
		return g.refusal(netip.AddrFrom4([4]byte(b[12:])))
	case sixToFour.Contains(ip):
		return g.refusal(netip.AddrFrom4([4]byte(b[2:6])))
	case !global6.Contains(ip) && !g.Allow.contains(ip):
		return reasonReserved
	case (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP, RFC 5214
		return g.refusal(netip.AddrFrom4([4]byte(b[12:])))
	}
	return ""
}

// blockedPorts lists ports of non-web services that might execute parts of a request as commands: ports blocked by the
// Fetch standard that are still in use, and ports of common databases and control planes.
var blockedPorts = map[uint16]string{
	7: "echo", 9: "discard", 19: "chargen", 20: "FTP", 21: "FTP", 22: "SSH", 23: "Telnet", 25: "SMTP", 37: "time",
	53: "DNS", 69: "TFTP", 79: "finger", 110: "POP3", 111: "RPC", 113: "ident", 119: "NNTP", 123: "NTP",
	135: "RPC", 137: "NetBIOS", 138: "NetBIOS", 139: "NetBIOS", 143: "IMAP", 161: "SNMP", 179: "BGP", 389: "LDAP",
	445: "SMB", 465: "SMTP", 512: "rexec", 513: "rlogin", 514: "rsh", 515: "printing", 548: "AFP", 554: "RTSP",
	587: "SMTP", 631: "printing", 636: "LDAP", 873: "rsync", 993: "IMAP", 995: "POP3", 1433: "SQL Server",
	1521: "Oracle", 2049: "NFS", 2181: "ZooKeeper", 2375: "Docker", 2376: "Docker", 2379: "etcd", 2380: "etcd",
	3306: "MySQL", 3389: "RDP", 4222: "NATS", 5060: "SIP", 5061: "SIP", 5432: "PostgreSQL", 5900: "VNC",
	6379: "Redis", 6443: "Kubernetes", 6667: "IRC", 9092: "Kafka", 9200: "Elasticsearch", 9300: "Elasticsearch",
	10250: "Kubernetes", 11211: "memcached", 19530: "Milvus", 27017: "MongoDB",
}

func (g Guard) checkPort(port uint16) error {
	if name, bad := blockedPorts[port]; bad || port == 0 {
		if port == 0 {
			name = "an invalid service"
		}
		return &RefusedError{target: "port " + strconv.Itoa(int(port)), reason: "the port of " + name}
	}
	return nil
}

// CheckURL rejects addresses that are forbidden even without a name lookup, for example because of the scheme or port.
// Callers use it to get a clear error before connecting.
func (g Guard) CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s cannot be fetched: only http and https addresses are supported", u.Redacted())
	}
	if u.Hostname() == "" {
		return fmt.Errorf("%s cannot be fetched: it has no host", u.Redacted())
	}
	if u.User != nil {
		return fmt.Errorf("%s cannot be fetched: addresses must not contain a user name; use config.headers for sites that need a login", u.Redacted())
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return fmt.Errorf("%s cannot be fetched: %q is not a port", u, p)
		}
		if err := g.checkPort(uint16(n)); err != nil {
			return fmt.Errorf("%s was not fetched: %w", u, err)
		}
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		if err := g.checkIP(ip); err != nil {
			return fmt.Errorf("%s was not fetched: %w", u, err)
		}
	}
	return nil
}

// IsPrivate reports whether an address is outside the public internet, i.e. only accessible because the configuration
// allows it.
func IsPrivate(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && Guard{}.checkSocket(tcp.AddrPort().Addr()) != nil
}

// checkSocket applies checkIP and also rejects this machine's own public addresses, because connections from the
// machine itself bypass the firewall. It cannot reject addresses that the system does not report.
func (g Guard) checkSocket(ip netip.Addr) error {
	if err := g.checkIP(ip); err != nil || g.AllowPrivate || g.Allow.contains(ip.Unmap()) {
		return err
	}
	own := net.InterfaceAddrs
	if g.ownAddrs != nil {
		own = g.ownAddrs
	}
	addrs, _ := own()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip.AsSlice()) {
			return &RefusedError{target: ip.String(), reason: reasonLoopback, private: true}
		}
	}
	return nil
}

// control is called by the dialer after creating a socket and before connecting it.
func (g Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	switch network {
	case "tcp4", "tcp6":
	default:
		return &RefusedError{target: address, reason: "not a TCP address"}
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{target: address, reason: "not an address and a port"}
	}
	if err := g.checkPort(ap.Port()); err != nil {
		return err
	}
	return g.checkSocket(ap.Addr())
}

// Dial returns a transport's dial function, which applies the address guard. A nil resolver means the system's.
func (g Guard) Dial(connect time.Duration, resolver *net.Resolver) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return g.Dialer(address, connect, resolver).DialContext(ctx, network, address)
	}
}

// forAddress returns the guard for a connection to a request's host and port. A host allowed by name may use a private
// address, but connections to the same address under another name stay blocked.
func (g Guard) forAddress(address string) Guard {
	if host, _, err := net.SplitHostPort(address); err == nil && g.Allow.allowsName(host) {
		g.AllowPrivate = true
	}
	return g
}

// Dialer returns a dialer for one host and port that applies the address guard.
func (g Guard) Dialer(address string, connect time.Duration, resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second, Resolver: resolver, ControlContext: g.forAddress(address).control}
}

// Resolve returns the addresses of a target's host, for requests through a proxy. It fails if the address guard rejects
// the port or any of the addresses, because the proxy may connect to any of them.
func (g Guard) Resolve(ctx context.Context, resolver *net.Resolver, target string) ([]netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(target)
	if err != nil {
		return nil, &RefusedError{target: target, reason: "not an address and a port"}
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, &RefusedError{target: target, reason: "not an address and a port"}
	}
	if err := g.checkPort(uint16(port)); err != nil {
		return nil, err
	}
	resolver = cmp.Or(resolver, net.DefaultResolver)
	ips, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	by := g.forAddress(target)
	targets := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		if err := by.checkSocket(ip); err != nil {
			return nil, err
		}
		targets[i] = netip.AddrPortFrom(ip.Unmap(), uint16(port))
	}
	return targets, nil
}
