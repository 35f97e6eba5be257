package option_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/option"
)

// color parses itself.
type color string

func (c *color) UnmarshalText(text []byte) error {
	if string(text) != "red" {
		return errors.New("only red")
	}
	*c = color(text)
	return nil
}

type settings struct {
	Nodes       int     `help:"how many"`
	MaxInflight int64   `help:"at most"`
	PreVote     bool    `help:"ask first"`
	Loss        float64 `help:"share"`
	Seed        uint64
	Name        string
	Paint       color
	hidden      int //nolint:unused // shows that unexported fields are no options
}

func TestSet(t *testing.T) {
	s := settings{Nodes: 3}
	err := option.SetAll(
		&s,
		[]string{
			"nodes=5",
			"max-inflight=-7",
			"pre-vote=true",
			"loss=0.5",
			"seed=18446744073709551615",
			"name=a=b",
			"paint=red",
		},
	)
	want := settings{Nodes: 5, MaxInflight: -7, PreVote: true, Loss: 0.5, Seed: 1<<64 - 1, Name: "a=b", Paint: "red"}
	if err != nil || s != want {
		t.Errorf("%+v, %v", s, err)
	}
	if text := option.Text(s,
		nil); text != "nodes=5,max-inflight=-7,pre-vote=true,loss=0.5,seed=18446744073709551615,name=a=b,paint=red" {
		t.Error(text)
	}
	for pair, want := range map[string]string{
		"node=1":                     `unknown key "node": allowed are nodes, max-inflight, pre-vote, loss, seed, name, paint`,
		"hidden=1":                   `unknown key "hidden": allowed are nodes, max-inflight, pre-vote, loss, seed, name, paint`,
		"nodes=many":                 "nodes=many: the value must be a whole number",
		"nodes=99999999999999999999": "nodes=99999999999999999999: the value must be a whole number",
		"pre-vote=maybe":             "pre-vote=maybe: the value must be true or false",
		"loss=x":                     "loss=x: the value must be a number",
		"seed=-1":                    "seed=-1: the value must be a whole number that is not negative",
		"paint=blue":                 "paint=blue: only red",
		"nodes":                      `"nodes" is not of the form key=value`,
	} {
		if err := option.SetAll(&s, []string{pair}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", pair, err, want)
		}
	}
	if err := option.Set(&struct{}{}, "a", "b"); err == nil || err.Error() != `unknown key "a": there are none` {
		t.Error(err)
	}
}

func ExampleList() {
	for _, o := range option.List(settings{Nodes: 3})[:2] {
		fmt.Println(o.Key, o.Default, o.Help)
	}
	// Output:
	// nodes 3 how many
	// max-inflight 0 at most
}

func ExampleText() {
	fmt.Println(option.Text(settings{Nodes: 3, PreVote: true}, nil))
	// Output: nodes=3,pre-vote=true
}

func ExampleSet() {
	s := settings{}
	fmt.Println(option.Set(&s, "pre-vote", "true"), s.PreVote)
	// Output: <nil> true
}

func ExampleSetAll() {
	s := settings{}
	fmt.Println(option.SetAll(&s, []string{"nodes=3", "loss=0.1"}), s.Nodes, s.Loss)
	// Output: <nil> 3 0.1
}

func TestWords(t *testing.T) {
	for i, w := range size(0).Words() {
		r := ranged{Size: 7}
		if err := option.Set(&r, "size", w); r.Size != size(i) || err != nil || r.Size.String() != w {
			t.Errorf("%s is number %d, %v", w, r.Size, err)
		}
	}
	if err := option.Set(&ranged{}, "size", "huge"); err == nil ||
		err.Error() != "size=huge: the value must be one of small, large" {
		t.Error(err)
	}
	if got := size(7).String(); got != "(7)" {
		t.Errorf("a number without a word is %s", got)
	}
}

// size is a setting with named values.
type size uint8

func (size) Words() []string  { return []string{"small", "large"} }
func (s size) String() string { return option.Word(s.Words(), int(s)) }

type ranged struct {
	Nodes  int           `zero:"3" range:"1..9"`
	Loss   float64       `zero:"0.5" range:"0..1"`
	Pause  time.Duration `zero:"2s" range:"10ms..1m"`
	Acks   string        `zero:"all" oneof:"all leader"`
	Size   size
	Steps  int `range:"0.."`
	Most   int `range:"-1.."`
	hidden int `zero:"1"` //nolint:unused // shows that unexported fields are no options
}

func TestFillAndCheck(t *testing.T) {
	r := ranged{}
	option.Fill(&struct{}{})
	if option.Fill(&r); r.Nodes != 3 || r.Loss != 0.5 || r.Pause != 2*time.Second {
		t.Errorf("filled to %+v", r)
	}
	r.Nodes = 5
	if option.Fill(&r); r.Nodes != 5 || option.Check(r) != nil {
		t.Errorf("%+v, %v", r, option.Check(r))
	}
	for _, c := range []struct {
		is   ranged
		want string
	}{
		{ranged{Nodes: 10}, "nodes is 10, allowed are 1..9"},
		{ranged{}, "nodes is 0, allowed are 1..9"},
		{ranged{Nodes: 1, Pause: time.Millisecond}, "pause is 1ms, allowed are 10ms..1m"},
		{ranged{Nodes: 1, Pause: time.Hour}, "pause is 1h0m0s, allowed are 10ms..1m"},
		{ranged{Nodes: 1, Pause: time.Second, Acks: "none"}, `acks is "none", allowed are all, leader`},
		{ranged{Nodes: 1, Size: 2}, "size is 2, allowed are small, large"},
		{ranged{Nodes: 1, Loss: 1.5}, "loss is 1.5, allowed are 0..1"},
		{ranged{Nodes: 1, Loss: math.NaN()}, "loss is NaN, allowed are 0..1"},
		{ranged{Nodes: 1, Steps: -1}, "steps is -1, it must not be negative"},
		{ranged{Nodes: 1, Most: -2}, "most is -2, it must be at least -1"},
	} {
		if c.is.Pause == 0 {
			c.is.Pause = time.Second
		}
		if c.is.Acks == "" {
			c.is.Acks = "all"
		}
		if err := option.Check(c.is); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.is, err, c.want)
		}
	}
}

func ExampleFill() {
	r := ranged{Loss: 0.1}
	option.Fill(&r)
	fmt.Println(r.Nodes, r.Loss, r.Pause)
	// Output: 3 0.1 2s
}

func ExampleCheck() {
	fmt.Println(option.Check(ranged{Nodes: 12}))
	// Output: nodes is 12, allowed are 1..9
}

func ExampleWithin() {
	fmt.Println(option.Within("voters", 4, 1, 3))
	// Output: voters is 4, allowed are 1..3
}

func ExampleChanged() {
	fmt.Println(option.Changed(ranged{Nodes: 5, Loss: 0.5}, ranged{}, "size"))
	// Output: map[loss:0.5 nodes:5 size:small]
}

// Trust tags determine which sources may set a value.
func TestFromFile(t *testing.T) {
	var s struct {
		Plain   string
		Said    string `trust:"harmless"`
		Bin     string `trust:"executes"`
		File    string `trust:"reads"`
		Version string `trust:"fetches" known:"1.0 2.0"`
		Typo    string `trust:"exectues"`
	}
	for i, want := range []struct {
		guarded, any, known bool
		does                string
	}{
		{false, true, true, "is a setting"}, {false, true, true, "is a setting"},
		{true, false, false, "names a program to start"}, {true, false, false, "names a file to read"},
		{true, false, true, "names something to download and start"},
		{true, false, false, "names something to download and start"},
	} {
		o := option.List(&s)[i]
		if o.Guarded() != want.guarded || o.FromFile("x") != want.any || o.FromFile("1.0") != want.known ||
			o.Trust.Does() != want.does {
			t.Errorf("%+v: guarded %v, from a file %v and %v, it %s", o, o.Guarded(), o.FromFile("x"),
				o.FromFile("1.0"), o.Trust.Does())
		}
	}
}

// shared are options that several structs embed.
type shared struct {
	Rate float64 `help:"share" range:"0..1" zero:"0.5"`
}

// The fields of an embedded struct are options like the others, unless a field of the struct itself hides them.
func TestEmbedded(t *testing.T) {
	type system struct {
		Nodes int
		shared
		Name string
	}
	type hiding struct {
		shared
		Rate int
	}
	s := system{Nodes: 3}
	if err := option.SetAll(&s, []string{"rate=0.25", "name=x"}); err != nil || s.Rate != 0.25 {
		t.Fatalf("%+v, %v", s, err)
	}
	var keys []string
	for _, o := range option.List(s) {
		keys = append(keys, o.Key+"="+o.Default)
	}
	if fmt.Sprint(keys) != "[nodes=3 rate=0.25 name=x]" {
		t.Error(keys)
	}
	if c := option.Changed(s, system{Nodes: 3}); fmt.Sprint(c) != "map[name:x rate:0.25]" {
		t.Error(c)
	}
	if text := option.Text(s, system{}); text != "nodes=3,rate=0.25,name=x" {
		t.Error(text)
	}
	s.Rate = 2
	if err := option.Check(s); err == nil || err.Error() != "rate is 2, allowed are 0..1" {
		t.Error(err)
	}
	s.Rate = 0
	if option.Fill(&s); s.Rate != 0.5 {
		t.Error(s)
	}
	h := hiding{}
	if err := option.Set(&h, "rate", "7"); err != nil || h.Rate != 7 || h.shared.Rate != 0 || len(option.List(h)) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}
