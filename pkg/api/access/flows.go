package access

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of keys and public resources whose workspaces Flows remembers.
const maxKnown = 20_000

// Flows assigns each request to the flow of a workspace or of the sender's address. Capacity is shared between flows
// before anything is read from the catalog, so Flows remembers the workspaces of valid keys, and of public resources
// that were queried without a key. All other requests belong to the flow of their address.
//
// A flow only decides how long a request waits and which requests are rejected under load. It grants no access, so an
// outdated flow does no harm.
type Flows struct {
	mu    sync.Mutex
	known map[string]string // flow by the hash of a key or by the id of a public resource
}

// NewFlows returns an empty Flows.
func NewFlows() *Flows { return &Flows{known: map[string]string{}} }

// Of returns the flow of a request.
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

// WorkspaceFlow returns the flow of all requests with a key of the workspace.
func WorkspaceFlow(id string) string { return "workspace " + id }

// VisitorFlow returns the flow of all requests without a key to the workspace's public resources. It differs from
// WorkspaceFlow, so that visitors cannot crowd out the workspace's owner.
func VisitorFlow(id string) string { return "visitors of " + id }

// AddressFlow returns the flow of requests from an address. All addresses of an IPv6 /64 network share a flow, because
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

// LearnKey remembers the workspace of a valid key.
func (f *Flows) LearnKey(key domain.APIKey) { f.add(key.Hash, WorkspaceFlow(key.WorkspaceID)) }

// LearnPublic remembers the workspace of a public agent or datastore.
func (f *Flows) LearnPublic(id, workspace string) { f.add(id, VisitorFlow(workspace)) }

func (f *Flows) add(name, flow string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[name] == flow {
		return
	}
	if len(f.known) >= maxKnown {
		for other := range f.known { // evict any entry: the next request restores it
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
