// Package lenient allows two versions of etcd's raft in one program. Both register their messages under the same
// names with google.golang.org/protobuf. The second registration panics unless an environment variable allows it.
// Neither version looks its messages up by name, so the conflict is harmless.
//
// The package must be initialized before the versions are. Go initializes packages whose imports are ready in the
// order of their import paths. This package imports os alone and sorts before go.etcd.io. [Done] restores the
// environment.
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
