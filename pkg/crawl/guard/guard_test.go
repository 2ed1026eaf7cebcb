package guard

import (
	"context"
	"net"
	"net/netip"
	"testing"
)

func TestGuard_opens_private_networks_only_by_configuration_and_never_the_rest(t *testing.T) {
	t.Parallel()
	open := Guard{AllowPrivate: true}
	for ip, want := range map[string]bool{
		"127.0.0.1": true, "::1": true, "10.1.2.3": true, "192.168.0.1": true, "172.20.0.1": true, "100.64.1.1": true,
		"fd00::1": true, "::ffff:127.0.0.1": true, "64:ff9b::10.0.0.1": true, "8.8.8.8": true, "2606:4700::1111": true,
		"169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false, "100.100.100.200": false, "0.0.0.0": false,
		"::": false, "224.0.0.1": false, "255.255.255.255": false, "64:ff9b::169.254.169.254": false, "fe80::1%eth0": false,
	} {
		if err := open.checkIP(netip.MustParseAddr(ip)); (err == nil) != want {
			t.Errorf("%s: %v", ip, err)
		}
	}
	for _, ip := range []string{"8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::", "100.63.255.255", "172.32.0.1", "11.0.0.1"} {
		if err := (Guard{}).checkIP(netip.MustParseAddr(ip)); err != nil {
			t.Errorf("a public address is refused: %v", err)
		}
	}
	if err := open.checkIP(netip.Addr{}); err == nil {
		t.Error("no address at all is allowed")
	}
	if err := open.control(context.Background(), "udp4", "8.8.8.8:80", nil); err == nil {
		t.Error("UDP is allowed")
	}
	if err := open.control(context.Background(), "tcp4", "8.8.8.8:25", nil); err == nil {
		t.Error("SMTP is allowed")
	}
}

func TestGuard_refuses_the_public_addresses_of_this_machine(t *testing.T) {
	t.Parallel()
	own := func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.IPv4(93, 184, 216, 34), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2600::7"), Mask: net.CIDRMask(64, 128)},
		}, nil
	}
	allow, err := ParseAllow([]string{"93.184.216.34", "2600::7"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		network, address string
		own              bool
	}{
		{"tcp4", "93.184.216.34:80", true}, {"tcp6", "[::ffff:93.184.216.34]:80", true}, {"tcp6", "[2600::7]:443", true},
		{"tcp4", "93.184.216.35:80", false}, {"tcp6", "[2600::8]:443", false},
	} {
		if err := (Guard{ownAddrs: own}).control(t.Context(), tc.network, tc.address, nil); (err != nil) != tc.own {
			t.Errorf("%s: %v", tc.address, err)
		}
		for _, g := range []Guard{{ownAddrs: own, AllowPrivate: true}, {ownAddrs: own, Allow: allow}} {
			if err := g.control(t.Context(), tc.network, tc.address, nil); err != nil {
				t.Errorf("%s, which configuration opens: %v", tc.address, err)
			}
		}
	}
}
