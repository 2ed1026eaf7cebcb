package admission

// Flows returns the number of flows the gate remembers.
func Flows(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.flows)
}
