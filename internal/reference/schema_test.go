package reference_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/cli"
	distal "github.com/lockstep-go/lockstep/distal/command"
	"github.com/lockstep-go/lockstep/internal/command"
	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// asCommand is the environment variable with which the test program is the command.
const asCommand = "LOCKSTEP_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		command.App().Main()
	}
	os.Exit(m.Run())
}

// schema generates the schema of the command's output.
func schema(t *testing.T) *reference.Schema {
	t.Helper()
	documents := cli.Documents()
	maps.Copy(documents, distal.Documents())
	s, err := reference.OutputSchema(cli.Schema, documents, "../..")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The file with the schema is what the code says, and the page lists the keys of run.
func TestReferenceOfOutput(t *testing.T) {
	s := schema(t)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	file := docs + "lockstep.schema.json"
	if os.Getenv("LOCKSTEP_REWRITE") != "" {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(file)
	if err != nil || string(is) != b.String() {
		t.Errorf("%s differs from the code; \"make reference\" generates it: %v", file, err)
	}
	if err := reference.Check(docs+"json.md", "keys of run", s.Keys("run")); err != nil {
		t.Error(err)
	}
	for key, p := range s.Defs["run"].Properties {
		if p.Description == "" {
			t.Errorf("the key %q of run has no description: its Go field has no comment", key)
		}
	}
}

// What the commands print is valid by the schema in the documentation, and has no key that the schema lacks.
func TestOutputIsValid(t *testing.T) {
	tier.NotShort(t)
	text, err := os.ReadFile(docs + "lockstep.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s := new(reference.Schema)
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	paxos, err := filepath.Abs("../../examples/distal/paxos_buggy.distal")
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]bool{}
	for _, c := range []struct {
		status int
		args   string
	}{
		{0, "list"},
		{0, "list smr"},
		{0, "run smr --runs 200 --coverage --closure"},
		{0, "run raft --runs 50 --strategy guided"},
		{1, "run smr-bug --runs 1000 --keep-going --no-shrink --strategy walk --out found"},
		{1, "replay found/TRACE"},
		{1, "shrink found/TRACE --attempts 500 --out small.trace"},
		{1, "compare smr-bug --strategies walk,uniform --runs 300 --repeat 2"},
		{0, "plan split --nodes 5 --k 2 --confidence 0.95"},
		{0, "plan separate --nodes 5 --k 2 --l 2 --tests 40"},
		{0, "plan isolate --nodes 5 --balanced --confidence 0.86"},
		{0, "plan sequence --nodes 5 --k 1 --confidence 0.8"},
		{0, "plan partition-sequence --nodes 4 --partition-sequence leader+zookeeper(2)|2_then_leader(1)|* --confidence 0.8"},
		{-1, "doctor"},
		{0, "distal check " + paxos},
		{1, "distal explore " + paxos},
		{0, "distal test " + paxos},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_then_", " then ")
			if before, ok := strings.CutSuffix(args[i], "TRACE"); ok {
				found, err := filepath.Glob(filepath.Join(dir, before, "*.trace"))
				if err != nil || len(found) == 0 {
					t.Fatal("no trace", err)
				}
				args[i] = found[0]
			}
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--json")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1")
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != c.status && c.status >= 0 {
			t.Errorf("%s: status %d, want %d: %v", c.args, got, c.status, err)
		}
		if lines := bytes.Count(out, []byte("\n")); lines != 1 {
			t.Errorf("%s prints %d lines", c.args, lines)
		}
		decoder := json.NewDecoder(bytes.NewReader(out))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			t.Errorf("%s: %v: %s", c.args, err, out)
			continue
		}
		for _, problem := range validate(s, s, v, "$") {
			t.Errorf("%s: %s", c.args, problem)
		}
		object, _ := v.(map[string]any)
		name, _ := object["command"].(string)
		printed[name] = true
		known := s.Defs[strings.ReplaceAll(name, " ", "-")]
		for key := range object {
			if known != nil && known.Properties[key] == nil && s.Properties[key] == nil {
				t.Errorf("%s prints the key %q, which the schema does not have", c.args, key)
			}
		}
	}
	for name := range s.Defs {
		if !printed[strings.ReplaceAll(name, "-", " ")] {
			t.Errorf("no output of %q was validated", name)
		}
	}
}

// validate lists where a value is not valid by a schema. An object without a schema for all keys has no other keys.
func validate(root, s *reference.Schema, v any, at string) (problems []string) {
	fail := func(format string, args ...any) {
		problems = append(problems, at+": "+fmt.Sprintf(format, args...))
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		if root.Defs[name] == nil {
			return []string{at + ": no definition " + name}
		}
		problems = append(problems, validate(root, root.Defs[name], v, at)...)
	}
	if s.Const != nil && fmt.Sprint(s.Const) != fmt.Sprint(v) {
		fail("%v is not %v", v, s.Const)
	}
	if text, ok := v.(string); len(s.Enum) > 0 && (!ok || !slices.Contains(s.Enum, text)) {
		fail("%v is not one of %v", v, s.Enum)
	}
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(kind string) bool { return is(kind, v) }) {
		fail("%T is not %v", v, s.Type)
	}
	for _, part := range s.AllOf {
		problems = append(problems, validate(root, part, v, at)...)
	}
	if s.If != nil && s.Then != nil && len(validate(root, s.If, v, at)) == 0 {
		problems = append(problems, validate(root, s.Then, v, at)...)
	}
	if list, ok := v.([]any); ok && s.Items != nil {
		for i := range list {
			problems = append(problems, validate(root, s.Items, list[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return problems
	}
	for _, key := range s.Required {
		if _, ok := object[key]; !ok {
			fail("the key %q is missing", key)
		}
	}
	for key, value := range object {
		switch {
		case s.Properties[key] != nil:
			problems = append(problems, validate(root, s.Properties[key], value, at+"."+key)...)
		case s.Additional != nil:
			problems = append(problems, validate(root, s.Additional, value, at+"."+key)...)
		case at != "$" && len(s.Properties) > 0:
			fail("unknown key %q", key)
		}
	}
	return problems
}

func is(kind string, v any) bool {
	switch x := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case json.Number:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(x.String(), ".eE")
	case []any:
		return kind == "array"
	default:
		return kind == "object"
	}
}

// The validator notices each kind of violation.
func TestValidate(t *testing.T) {
	s := schema(t)
	for text, want := range map[string]string{
		`{"schema":1,"command":"plan"}`:                          "$.schema: 1 is not",
		`{"schema":3,"command":"none"}`:                          "is not one of",
		`{"command":"plan"}`:                                     `"schema" is missing`,
		`{"schema":3,"command":"run","target":7}`:                "$.target: json.Number is not [string]",
		`{"schema":3,"command":"run"}`:                           `"target" is missing`,
		`{"schema":3,"command":"run","finding":{"x":1}}`:         `$.finding: unknown key "x"`,
		`{"schema":3,"command":"run","runs":1.5}`:                "$.runs: json.Number is not [integer]",
		`{"schema":3,"command":"run","verdicts":{"pass":"all"}}`: "$.verdicts.pass: string is not [integer]",
		`{"schema":3,"command":"run","traces":[1]}`:              "$.traces[0]: json.Number is not [string]",
	} {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(validate(s, s, v, "$"), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
	if reflect.DeepEqual(s, new(reference.Schema)) {
		t.Error("the schema is empty")
	}
}
