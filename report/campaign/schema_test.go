package campaign_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/report/internal/pagetest"
)

// schema is the subset of XML Schema that testdata/junit.xsd uses: elements by reference in sequences, typed
// attributes, and mixed content.
type schema struct {
	Elements []schemaElement `xml:"element"`
}

type schemaElement struct {
	Name string     `xml:"name,attr"`
	Ref  string     `xml:"ref,attr"`
	Min  string     `xml:"minOccurs,attr"`
	Max  string     `xml:"maxOccurs,attr"`
	Type schemaType `xml:"complexType"`
}

type schemaType struct {
	Mixed      bool              `xml:"mixed,attr"`
	Children   []schemaElement   `xml:"sequence>element"`
	Attributes []schemaAttribute `xml:"attribute"`
}

type schemaAttribute struct {
	Name string `xml:"name,attr"`
	Type string `xml:"type,attr"`
	Use  string `xml:"use,attr"`
}

// node is an element of a document.
type node struct {
	name     string
	attrs    []xml.Attr
	children []*node
	text     string
}

func parse(document []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(document))
	top := &node{}
	stack := []*node{top}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(stack) != 1 || len(top.children) != 1 {
				return nil, fmt.Errorf("%d elements at the top", len(top.children))
			}
			return top.children[0], nil
		}
		if err != nil {
			return nil, err
		}
		now := stack[len(stack)-1]
		switch x := token.(type) {
		case xml.StartElement:
			child := &node{name: x.Name.Local, attrs: x.Attr}
			now.children = append(now.children, child)
			stack = append(stack, child)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			now.text += string(x)
		}
	}
}

func readSchema(t *testing.T) map[string]schemaType {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "junit.xsd"))
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := xml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	types := map[string]schemaType{}
	for _, e := range s.Elements {
		types[e.Name] = e.Type
	}
	return types
}

var attributeTypes = map[string]*regexp.Regexp{
	"xs:string":             regexp.MustCompile(`(?s)^.*$`),
	"xs:decimal":            regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)$`),
	"xs:nonNegativeInteger": regexp.MustCompile(`^\d+$`),
}

// validate reports the first violation of the schema by an element.
func validate(types map[string]schemaType, n *node) error {
	s, ok := types[n.name]
	if !ok {
		return fmt.Errorf("element %s is not in the schema", n.name)
	}
	if !s.Mixed && strings.TrimSpace(n.text) != "" {
		return fmt.Errorf("%s holds text %q", n.name, n.text)
	}
	if err := validateAttributes(s, n); err != nil {
		return err
	}
	rest := n.children
	for _, want := range s.Children {
		count := 0
		for len(rest) > 0 && rest[0].name == want.Ref {
			if err := validate(types, rest[0]); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			rest, count = rest[1:], count+1
		}
		if count < occurs(want.Min) || want.Max != "unbounded" && count > occurs(want.Max) {
			return fmt.Errorf("%s has %d elements %s", n.name, count, want.Ref)
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s: element %s is not allowed here", n.name, rest[0].name)
	}
	return nil
}

func occurs(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return 1
}

func validateAttributes(s schemaType, n *node) error {
	has := map[string]bool{}
	for _, a := range n.attrs {
		if has[a.Name.Local] {
			return fmt.Errorf("%s has the attribute %s twice", n.name, a.Name.Local)
		}
		has[a.Name.Local] = true
		known := false
		for _, want := range s.Attributes {
			if want.Name == a.Name.Local {
				known = true
				if !attributeTypes[want.Type].MatchString(a.Value) {
					return fmt.Errorf("%s: %s=%q is no %s", n.name, want.Name, a.Value, want.Type)
				}
			}
		}
		if !known {
			return fmt.Errorf("%s has an attribute %s", n.name, a.Name.Local)
		}
	}
	for _, want := range s.Attributes {
		if want.Use == "required" && !has[want.Name] {
			return fmt.Errorf("%s lacks the attribute %s", n.name, want.Name)
		}
	}
	return nil
}

func validJUnit(types map[string]schemaType, document []byte) error {
	top, err := parse(document)
	if err != nil {
		return err
	}
	return validate(types, top)
}

func TestJUnitFollowsItsSchema(t *testing.T) {
	types := readSchema(t)
	for i, text := range pagetest.Nasties() {
		var b bytes.Buffer
		if err := campaign.JUnit(&b, campaignWith(text), sampleCampaign(), passed()); err != nil {
			t.Fatal(err)
		}
		if err := validJUnit(types, b.Bytes()); err != nil {
			t.Errorf("%s: %v\n%.2000s", pagetest.Name(i, text), err, b.String())
		}
	}
}

// The check itself rejects invalid documents.
func TestSchemaRefuses(t *testing.T) {
	types := readSchema(t)
	for _, c := range []struct{ what, document string }{
		{"foreign element", `<testsuites><suite/></testsuites>`},
		{"missing attribute", `<testsuites><testsuite name="a"/></testsuites>`},
		{"foreign attribute", `<testsuites color="red"/>`},
		{"wrong type", `<testsuites tests="many"/>`},
		{
			"wrong order",
			`<testsuites><testsuite name="a" tests="1"><testcase name="x" classname="y"/><properties/></testsuite></testsuites>`,
		},
		{"too many", `<testsuites><testsuite name="a" tests="0"><properties/><properties/></testsuite></testsuites>`},
		{"text", `<testsuites>text</testsuites>`},
		{"not well-formed", `<testsuites>`},
	} {
		if validJUnit(types, []byte(c.document)) == nil {
			t.Errorf("%s passed", c.what)
		}
	}
}
