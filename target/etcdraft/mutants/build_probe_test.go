package mutants_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/target/etcdraft/mutants"
)

func TestProbe(t *testing.T) {
	p, err := mutants.Builder{Cache: "/tmp/mut-cache", Source: "../../.."}.Build(t.Context(), mutants.All())
	t.Log(p, len(mutants.All()), err)
}
