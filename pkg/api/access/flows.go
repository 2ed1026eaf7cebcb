package access

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of keys and public resources for which Flows remembers the workspace.
const maxKnown = 20_000

// Flows assigns each request to a flow: the workspace's flow if the workspace is known, and otherwise the flow for the
// sender's address. The flow must be known before anything is read from the catalog. Flows therefore remembers which
// workspaces valid keys belong to, and likewise for public resources that were queried without a key.
//
// A flow affects only how long a request waits and whether it is rejected under load. It grants no access, so an
// outdated entry does no harm.
type Flows struct {
	mu    sync.Mutex
	known map[string]string // maps a key's hash or a public resource's id to a flow
}

// NewFlows returns an empty Flows.
func NewFlows() *Flows { return &Flows{known: map[string]string{}} }

// Of returns a request's flow.
func (f *Flows) Of(r *http.Request) string {
	secret, err := Secret(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
	case secret != "":
		if flow, ok := f.known[domain.HashKey(secret)]; ok {
			return flow
		}
	default:
		for segment := range strings.SplitSeq(r.URL.Path, "/") {
			if !domain.ValidID(segment) {
				continue
			}
			if flow, ok := f.known[segment]; ok {
				return flow
			}
		}
	}
	return AddressFlow(r.RemoteAddr)
}

// WorkspaceFlow returns the flow for all requests with a key from the workspace.
func WorkspaceFlow(id string) string { return "workspace " + id }

// VisitorFlow returns the flow for all keyless requests to the workspace's public resources. A separate flow keeps
// visitors from crowding out the workspace's owner.
func VisitorFlow(id string) string { return "visitors of " + id }

// AddressFlow returns the flow for requests from an address. All addresses in an IPv6 /64 network share a flow, because
// a client can use any address in its network.
func AddressFlow(remote string) string {
	host := Host(remote)
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			host = network.String()
		}
	}
	return "address " + host
}

// LearnKey remembers a valid key's workspace.
func (f *Flows) LearnKey(key domain.APIKey) { f.add(key.Hash, WorkspaceFlow(key.WorkspaceID)) }

// LearnPublic remembers a public agent's or datastore's workspace.
func (f *Flows) LearnPublic(id, workspace string) { f.add(id, VisitorFlow(workspace)) }

func (f *Flows) add(name, flow string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[name] == flow {
		return
	}
	if len(f.known) >= maxKnown {
		for other := range f.known { // evict any entry, because the next request restores it
			delete(f.known, other)
			break
		}
	}
	f.known[name] = flow
}

// Forget removes a key that is no longer valid.
func (f *Flows) Forget(secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, domain.HashKey(secret))
}
