package lockstep

// Roles is a Deployment that can tell which part each node plays for the time being. Its
// [Info] lists the names, the one first that is most worth cutting off.
type Roles interface {
	// Role is the name of the part that a node plays, such as "leader"; empty where it plays
	// none.
	Role(n Node) string
}

// Playing is the set of the nodes that are up and play the part of that name. It is empty
// where the deployment does not tell roles.
func (r *Run) Playing(role string) Nodes {
	var nodes Nodes
	if d, ok := r.system.(Roles); ok {
		for n := range r.up.All() {
			if d.Role(n) == role {
				nodes = nodes.With(n)
			}
		}
	}
	return nodes
}
