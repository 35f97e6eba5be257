package strategy_test

import (
	"context"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// TestDeterminism runs the same campaign twice, and with two workers, with every strategy: the digests agree. Another
// seed gives another digest.
func TestDeterminism(t *testing.T) {
	for _, k := range strategy.All() {
		t.Run(k.Name, func(t *testing.T) {
			plan := lockstep.Plan{
				System:    smr.Cluster{Nodes: 3, Bug: true, Requests: 3},
				Strategy:  k.Default,
				Spec:      smr.Prefix,
				Seed:      5,
				Runs:      200,
				Workers:   1,
				KeepGoing: true,
				Settle:    20,
			}
			first := enginetest.Explore(t, plan)
			if again := enginetest.Explore(t, plan); again.Digest != first.Digest {
				t.Errorf("digest %x, the second time %x", first.Digest, again.Digest)
			}
			plan.Workers = 2
			two := enginetest.Explore(t, plan)
			if two.Digest != first.Digest || two.Stats != first.Stats || two.Strategy != first.Strategy ||
				two.Reached != first.Reached {
				t.Errorf("with two workers %x %v %s %q, with one %x %v %s %q", two.Digest, two.Stats, two.Strategy,
					two.Reached, first.Digest, first.Stats, first.Strategy, first.Reached)
			}
			for _, f := range append(first.Failures, two.Failures...) {
				if f.Flaky != "" {
					t.Errorf("run %d: %s", f.Run, f.Flaky)
				}
			}
			plan.Seed++
			if other := enginetest.Explore(t, plan); other.Digest == first.Digest {
				t.Errorf("digest %x with another seed too", first.Digest)
			}
		})
	}
}

// TestCorrectSystem checks that no strategy reports a finding in a correct system.
func TestCorrectSystem(t *testing.T) {
	tier.NotShort(t)
	for _, k := range strategy.All() {
		for _, system := range []smr.Cluster{{Nodes: 3}, {Nodes: 5, Requests: 3}} {
			result := enginetest.Explore(t,
				lockstep.Plan{System: system, Strategy: k.Default, Spec: smr.Prefix, Runs: 500})
			if first := result.First(); first != nil {
				t.Errorf("%s: %s", k.Name, first.Finding)
			}
			if result.Checked[0].N == 0 && k.Name != "systematic" {
				t.Errorf("%s never put the spec to the test", k.Name)
			}
		}
	}
}

// TestRoundTrip sets the options of every strategy at random and parses the text that the strategy writes.
func TestRoundTrip(t *testing.T) {
	kinds := strategy.All()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		p := reflect.New(reflect.TypeOf(k.Default))
		for i := range p.Elem().NumField() {
			f := p.Elem().Field(i)
			if !f.CanSet() {
				continue
			}
			switch f.Kind() {
			case reflect.Int:
				f.SetInt(rapid.Int64Range(-5, 1000).Draw(t, "int"))
			case reflect.Float64:
				f.SetFloat(rapid.Float64Range(0, 1).Draw(t, "float"))
			case reflect.String:
				f.SetString(rapid.SampledFrom([]string{"", "leader"}).Draw(t, "string"))
			case reflect.Bool:
				f.SetBool(rapid.Bool().Draw(t, "bool"))
			case reflect.Uint8:
				f.SetUint(uint64(rapid.IntRange(0, 1).Draw(t, "word")))
			case reflect.Struct: // an inner strategy
				f.Set(reflect.ValueOf(strategy.Inner{Strategy: rapid.SampledFrom(kinds).Draw(t, "inner").Default}))
			default:
				t.Fatalf("%s: a field of kind %s", k.Name, f.Kind())
			}
		}
		s := p.Elem().Interface().(lockstep.Strategy)
		back, err := strategy.Parse(s.String())
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if !reflect.DeepEqual(back, s) {
			t.Fatalf("%s became %s", s, back)
		}
	})
}

// t0 is the context of examples.
var t0 = context.Background()
