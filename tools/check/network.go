package main

import (
	"net/netip"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// clusterNetworks holds addresses inside a cluster that the crawler must not reach: pods and services, nodes, and cloud
// providers' metadata services.
var clusterNetworks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16"),
}

// checkNetwork checks the network policies. A release has either all or none of them.
func checkNetwork(r *rendered, deployments []*appsv1.Deployment, f *faults) {
	policies := all[*networkingv1.NetworkPolicy](r.objects)
	if len(policies) == 0 {
		return
	}
	guarded := map[string]int{}
	for _, p := range policies {
		chosen := selected(&p.Spec.PodSelector, deployments)
		if len(chosen) != 1 {
			f.add("NetworkPolicy %s does not guard one deployment", p.Name)
			continue
		}
		guarded[chosen[0].Name]++
		f.require(len(p.Spec.PolicyTypes) == 2, "NetworkPolicy %s leaves a direction open", p.Name)
		component := chosen[0].Spec.Template.Labels["app.kubernetes.io/component"]
		if component == "browser" {
			f.require(len(p.Spec.Egress) == 0, "NetworkPolicy %s lets the browser reach something", p.Name)
		} else {
			checkEgress(p, component, f)
		}
		checkIngress(p, component, f)
	}
	for _, d := range deployments {
		f.require(guarded[d.Name] == 1, "%s has %d network policies, want 1", d.Name, guarded[d.Name])
	}
}

func checkIngress(p *networkingv1.NetworkPolicy, component string, f *faults) {
	for _, rule := range p.Spec.Ingress {
		f.require(len(rule.Ports) > 0, "NetworkPolicy %s opens every port", p.Name)
		f.require(component == "api" || len(rule.From) > 0, "NetworkPolicy %s lets everyone in", p.Name)
	}
}

func checkEgress(p *networkingv1.NetworkPolicy, component string, f *faults) {
	dns := false
	for _, rule := range p.Spec.Egress {
		web := false
		for _, peer := range rule.To {
			if peer.IPBlock == nil {
				continue
			}
			web = checkBlock(p.Name, peer.IPBlock, component, f) || web
		}
		f.require(len(rule.Ports) > 0 || web, "NetworkPolicy %s lets it reach every port of every address", p.Name)
		for _, port := range rule.Ports {
			if port.Port == nil {
				f.add("NetworkPolicy %s opens every port", p.Name)
				continue
			}
			dns = dns || port.Port.IntValue() == 53
			f.require(component == "api" || port.Port.IntValue() != 5432, "NetworkPolicy %s lets a worker reach the database", p.Name)
		}
	}
	f.require(dns, "NetworkPolicy %s: no name can be resolved", p.Name)
}

// checkBlock checks a policy's IP block and reports whether it opens all public addresses to the crawler.
func checkBlock(name string, block *networkingv1.IPBlock, component string, f *faults) bool {
	cidr, err := netip.ParsePrefix(block.CIDR)
	if err != nil {
		f.add("NetworkPolicy %s: %v", name, err)
		return false
	}
	var except []netip.Prefix
	for _, text := range block.Except {
		e, err := netip.ParsePrefix(text)
		if err != nil || !covers(cidr, e) || e == cidr {
			f.add("NetworkPolicy %s: %s is not a part of %s", name, text, block.CIDR)
			continue
		}
		f.require(e == e.Masked(), "NetworkPolicy %s: %s has bits beyond its mask", name, text)
		except = append(except, e)
	}
	if component != "crawler" || cidr.Bits() > 0 {
		return false
	}
	for _, hidden := range clusterNetworks {
		if !covers(cidr, hidden) {
			continue
		}
		excepted := false
		for _, e := range except {
			excepted = excepted || covers(e, hidden)
		}
		f.require(excepted, "NetworkPolicy %s lets the crawler reach %s", name, hidden)
	}
	return true
}

// covers reports whether `outside` contains all of `inside`.
func covers(outside, inside netip.Prefix) bool {
	return outside.Addr().Is4() == inside.Addr().Is4() && outside.Bits() <= inside.Bits() && outside.Contains(inside.Addr())
}
