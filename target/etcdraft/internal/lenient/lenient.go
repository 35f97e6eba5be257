// Package lenient lets two versions of etcd's raft live in one program. Both register
// their messages under the same names with google.golang.org/protobuf, which panics at
// the second unless the environment says otherwise. Neither version looks its messages
// up by name, so the conflict is harmless.
//
// The package must be initialized before the versions are. Go initializes packages whose
// imports are ready in the order of their import paths, and this one imports os alone
// and sorts before go.etcd.io. [Done] puts the environment back.
package lenient

import "os"

const variable = "GOLANG_PROTOBUF_REGISTRATION_CONFLICT"

var before, was = os.LookupEnv(variable)

func init() { _ = os.Setenv(variable, "ignore") }

// Done ends the leniency, after all versions are initialized.
func Done() {
	if was {
		_ = os.Setenv(variable, before)
	} else {
		_ = os.Unsetenv(variable)
	}
}
