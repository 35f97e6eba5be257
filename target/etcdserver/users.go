package etcdserver

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/watch"
)

// The types of event about users.
const (
	EventRight  = "right"  // the operator changes a user's rights: [*Right]
	EventAccess = "access" // a user requests access: [*Access]
)

// The states of a request.
const (
	Asked   = "asked"   // it may happen from now on
	Done    = "done"    // the server acknowledged it
	Refused = "refused" // it did not happen, nor will it
)

// areas is the number of keys that users have rights to; each area is one key.
const areas = 3

// Right is a change of a user's rights.
type Right struct {
	User  int
	Area  int // -1: all, through the user's role; -2: authentication itself, with Allow from its beginning on
	Allow bool
	How   string
}

// String is the change as text.
func (r *Right) String() string {
	verb, what := "denied", fmt.Sprint("area ", r.Area)
	if r.Allow {
		verb = "allowed"
	}
	switch r.Area {
	case theRole:
		what = "its role"
	case authentication:
		return "authentication: " + r.How
	}
	return fmt.Sprintf("user %d is %s %s: %s", r.User, verb, what, r.How)
}

// Special values of Right.Area that are no areas.
const (
	theRole        = -1
	authentication = -2
)

// Access is a request of a user.
type Access struct {
	Number     int // counted within the run
	User, Area int // user 0 stands for none
	Write      bool
	How        string
}

// String is the access as text.
func (a *Access) String() string {
	verb := "reads"
	if a.Write {
		verb = fmt.Sprint("writes ", a.Number, " to")
	}
	return fmt.Sprintf("user %d %s area %d: %s", a.User, verb, a.Area, a.How)
}

// area is the key of an area.
func area(i int) string { return fmt.Sprint("area", i) }

// The name of the user that may do everything, and the names of the others and of their roles.
const root = "root"

func user(i int) string { return fmt.Sprint("user", i) }

func role(i int) string { return fmt.Sprint("role", i) }

// rights are the operator's knowledge of authentication.
type rights struct {
	enabled  bool
	role     map[int]bool    // whether users have their roles
	area     map[[2]int]bool // whether roles have areas
	accesses int
	logins   map[login]*clientv3.Client
}

// login is a user at a node, in one incarnation of it.
type login struct {
	node        lockstep.Node
	incarnation int
	user        int
}

func newRights() *rights {
	return &rights{role: map[int]bool{}, area: map[[2]int]bool{}, logins: map[login]*clientv3.Client{}}
}

// permit changes the rights of users: first it enables authentication, then it grants and revokes rights.
func (s *clients) permit(n *bubble.Node, client *clientv3.Client) {
	s.mutex.Lock()
	enabled := s.rights.enabled
	s.mutex.Unlock()
	if !enabled {
		s.authenticate(n, client)
		return
	}
	u, a := 1+n.Source().IntN(s.cluster.Users), n.Source().IntN(areas+1)-1 // -1: theRole
	s.mutex.Lock()
	allow := !s.rights.area[[2]int{u, a}]
	if a == theRole {
		allow = !s.rights.role[u]
	}
	s.mutex.Unlock()
	r := Right{User: u, Area: a, Allow: allow, How: Asked}
	n.Emit(EventRight, &r)
	_, err := asking(n, func(ctx context.Context) (any, error) { return nil, change(ctx, client, r) })
	s.changed(n, r, err)
}

// changed reports the result of a change of rights.
func (s *clients) changed(n *bubble.Node, r Right, err error) {
	known := errors.Is(err, rpctypes.ErrRoleNotGranted) || errors.Is(err, rpctypes.ErrPermissionNotGranted) ||
		isAlready(err)
	switch {
	case err == nil || known && !r.Allow: // a right that is not granted is denied
		r.How = Done
	case known:
		r.How = Refused
	default:
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !n.Alive() {
		return
	}
	if r.Area == theRole {
		s.rights.role[r.User] = r.Allow
	} else {
		s.rights.area[[2]int{r.User, r.Area}] = r.Allow
	}
	n.Emit(EventRight, &r)
}

// change requests a change of rights.
func change(ctx context.Context, client *clientv3.Client, r Right) (err error) {
	switch {
	case r.Area == theRole && r.Allow:
		_, err = client.UserGrantRole(ctx, user(r.User), role(r.User))
	case r.Area == theRole:
		_, err = client.UserRevokeRole(ctx, user(r.User), role(r.User))
	case r.Allow:
		_, err = client.RoleGrantPermission(ctx, role(r.User), area(r.Area), "",
			clientv3.PermissionType(clientv3.PermReadWrite))
	default:
		_, err = client.RoleRevokePermission(ctx, role(r.User), area(r.Area), "")
	}
	return err
}

// isAlready reports whether the error states that the desired state already exists.
func isAlready(err error) bool {
	return errors.Is(err, rpctypes.ErrUserAlreadyExist) || errors.Is(err, rpctypes.ErrRoleAlreadyExist)
}

// authenticate creates users and their roles, without rights, and enables authentication.
func (s *clients) authenticate(n *bubble.Node, client *clientv3.Client) {
	steps := []func(context.Context) error{
		func(ctx context.Context) error { _, err := client.RoleAdd(ctx, root); return err },
		func(ctx context.Context) error { _, err := client.UserAdd(ctx, root, root); return err },
		func(ctx context.Context) error { _, err := client.UserGrantRole(ctx, root, root); return err },
	}
	for i := range s.cluster.Users {
		steps = append(steps, func(ctx context.Context) error { _, err := client.RoleAdd(ctx, role(i+1)); return err },
			func(ctx context.Context) error { _, err := client.UserAdd(ctx, user(i+1), user(i+1)); return err })
	}
	steps = append(steps, func(ctx context.Context) error { _, err := client.AuthEnable(ctx); return err })
	for _, step := range steps {
		if _, err := asking(n, func(ctx context.Context) (any, error) { return nil, step(ctx) }); err != nil &&
			!isAlready(err) {
			return
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if n.Alive() {
		s.rights.enabled = true
		n.Emit(EventRight, &Right{Area: authentication, Allow: true, How: Done})
	}
}

// access is a request of a user, with or without the right to it.
func (s *clients) access(n *bubble.Node, u int) {
	a := Access{User: u, Area: n.Source().IntN(areas), Write: n.Source().IntN(2) == 1, How: Asked}
	client, err := s.login(n, u)
	if err != nil {
		return
	}
	s.mutex.Lock()
	s.rights.accesses++
	a.Number = s.rights.accesses
	s.mutex.Unlock()
	asked := a
	n.Emit(EventAccess, &asked)
	revision, err := asking(n, func(ctx context.Context) (int64, error) {
		if !a.Write {
			_, err := client.Get(ctx, area(a.Area))
			return 0, err
		}
		put, err := client.Put(ctx, area(a.Area), fmt.Sprint(a.Number))
		if err != nil {
			return 0, err
		}
		return put.Header.Revision, nil
	})
	switch {
	case err == nil:
		a.How = Done
	case errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserEmpty):
		a.How = Refused
	default:
		return
	}
	n.Emit(EventAccess, &a)
	if revision > 0 {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.wrote(n, []watch.Change{{Revision: revision, Key: area(a.Area), Value: fmt.Sprint(a.Number)}})
	}
}

// login is the client of a user at a node.
func (s *clients) login(n *bubble.Node, u int) (*clientv3.Client, error) {
	l := login{n.Self(), n.Incarnation(), u}
	s.mutex.Lock()
	client := s.rights.logins[l]
	s.mutex.Unlock()
	if client != nil {
		return client, nil
	}
	name := ""
	if u > 0 {
		name = user(u)
	}
	client, err := connect(n, name, s.near(n))
	if err != nil {
		return nil, err
	}
	n.OnStop(func() { _ = client.Close() })
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.rights.logins[l] = client
	return client, nil
}
