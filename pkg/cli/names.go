package cli

import (
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/lists"
)

var idForm = lazyregexp.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// IsID reports whether the user's argument looks like an id rather than a name.
func IsID(wanted string) bool { return idForm().MatchString(wanted) }

// Named is an object with an id and a name, and with its workspace if the user can see several workspaces.
type Named struct{ ID, Name, Workspace string }

// Pick returns the id of the object named `wanted`. `kind` is its kind in error messages, such as "datastore".
func Pick(kind, wanted string, all []Named) (id string, err error) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		var found, shown []string
		for _, n := range all {
			if same(n.Name, wanted) {
				found, shown = append(found, n.ID), append(shown, n.ID)
				if n.Workspace != "" {
					shown[len(shown)-1] += " (workspace " + n.Workspace + ")"
				}
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return "", Misusedf("there are %d %ss named %q: use one of their ids: %s", len(found), kind, wanted, firstNames(shown))
		}
	}
	names := lists.Map(all, func(n Named) string { return fmt.Sprintf("%q", n.Name) })
	if len(names) == 0 {
		return "", WithExit(NotFound, fmt.Errorf("%s %q does not exist; there are no %[1]ss yet", kind, wanted))
	}
	return "", WithExit(NotFound, fmt.Errorf("%s %q does not exist; existing ones: %s", kind, wanted, firstNames(names)))
}

// Find returns the id of the object with this id or name. `each` must call `add` for every object of the kind.
func Find(kind, wanted string, each func(add func(Named)) error) (id string, err error) {
	if IsID(wanted) {
		return wanted, nil
	}
	var all []Named
	if err := each(func(n Named) { all = append(all, n) }); err != nil {
		return "", fmt.Errorf("looking for %s %q: %w", kind, wanted, err)
	}
	return Pick(kind, wanted, all)
}

// firstNames joins the first few names with commas and says how many more there are.
func firstNames(names []string) string {
	const limit = 8
	if len(names) > limit {
		return strings.Join(names[:limit], ", ") + fmt.Sprintf(" and %d more", len(names)-limit)
	}
	return strings.Join(names, ", ")
}
