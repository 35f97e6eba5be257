package reference

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/big"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/target"
)

// Schema is a JSON Schema (draft 2020-12), as far as the schema of the command line needs it.
type Schema struct {
	Meta        string `json:"$schema,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Ref refers to a definition: "#/$defs/run".
	Ref        string             `json:"$ref,omitempty"`
	Type       Types              `json:"type,omitempty"`
	Const      any                `json:"const,omitempty"`
	Enum       []string           `json:"enum,omitempty"`
	Properties map[string]*Schema `json:"properties,omitempty"`
	Required   []string           `json:"required,omitempty"`
	// Additional is the schema of the values of a map.
	Additional *Schema            `json:"additionalProperties,omitempty"`
	Items      *Schema            `json:"items,omitempty"`
	AllOf      []*Schema          `json:"allOf,omitempty"`
	If         *Schema            `json:"if,omitempty"`
	Then       *Schema            `json:"then,omitempty"`
	Defs       map[string]*Schema `json:"$defs,omitempty"`
}

// Types are the allowed types of a value; none: any type. A single type is a text in JSON.
type Types []string

// MarshalJSON writes the types.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads the types.
func (t *Types) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = Types{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// draft is the dialect of the schema.
const draft = "https://json-schema.org/draft/2020-12/schema"

// OutputSchema is the schema of the JSON that commands print with --json. It has a definition for each command; version
// is the number of the schema. Descriptions come from the comments of the Go source below root.
func OutputSchema(version int, documents map[string]any, root string) (*Schema, error) {
	commands := slices.Sorted(maps.Keys(documents))
	s := &Schema{
		Meta:  draft,
		Title: "Output of lockstep with --json",
		Description: "One object on one line. A release may add keys. " +
			"The number schema changes if a key is removed or changes its meaning.",
		Type: Types{"object"},
		Properties: map[string]*Schema{
			"schema":  {Const: version, Description: "Version of the JSON of all commands."},
			"command": {Type: Types{"string"}, Enum: commands, Description: "The command that printed the object."},
		},
		Required: []string{"command", "schema"},
		Defs:     map[string]*Schema{},
	}
	g := generator{root: root, comments: map[string]map[string]string{}}
	for _, name := range commands {
		key := strings.ReplaceAll(name, " ", "-")
		s.Defs[key] = g.schema(reflect.TypeOf(documents[name]))
		s.AllOf = append(s.AllOf, &Schema{
			If:   &Schema{Properties: map[string]*Schema{"command": {Const: name}}},
			Then: &Schema{Ref: "#/$defs/" + key},
		})
	}
	return s, g.err
}

// generator makes schemas of Go types.
type generator struct {
	root     string
	comments map[string]map[string]string // by package path: comments of fields, by "Type.Field"
	err      error
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (g *generator) schema(t reflect.Type) *Schema {
	switch {
	case t == reflect.TypeFor[big.Int]():
		return &Schema{Type: Types{"integer"}}
	case t.Kind() == reflect.Pointer:
		return nullable(g.schema(t.Elem()))
	case t.Implements(jsonMarshaler):
		return &Schema{}
	case t.Implements(textMarshaler):
		return &Schema{Type: Types{"string"}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: Types{"boolean"}}
	case reflect.String:
		return &Schema{Type: Types{"string"}}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: Types{"number"}}
	case reflect.Slice, reflect.Array:
		return &Schema{Type: Types{"array"}, Items: g.schema(t.Elem())}
	case reflect.Map:
		return &Schema{Type: Types{"object"}, Additional: g.schema(t.Elem())}
	case reflect.Struct:
		s := &Schema{Type: Types{"object"}, Properties: map[string]*Schema{}}
		g.fields(t, s)
		slices.Sort(s.Required)
		return s
	case reflect.Interface:
		return &Schema{}
	default:
		return &Schema{Type: Types{"integer"}}
	}
}

// fields adds the keys of a struct to its schema.
func (g *generator) fields(t reflect.Type, s *Schema) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			g.fields(embedded, s)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		p := g.schema(f.Type)
		p.Description = g.comment(t, f)
		if !strings.Contains(options, "omitempty") {
			s.Required = append(s.Required, name)
			if k := f.Type.Kind(); k == reflect.Slice || k == reflect.Map {
				p = nullable(p)
			}
		}
		s.Properties[name] = p
	}
}

// nullable allows null, too.
func nullable(s *Schema) *Schema {
	if len(s.Type) > 0 && !slices.Contains(s.Type, "null") {
		s.Type = append(s.Type, "null")
	}
	return s
}

// comment returns the comment of a field of a type of this project.
func (g *generator) comment(t reflect.Type, f reflect.StructField) string {
	dir, ok := strings.CutPrefix(t.PkgPath(), target.Root)
	if !ok {
		return ""
	}
	if g.comments[dir] == nil {
		comments, err := readComments(filepath.Join(g.root, dir))
		if err != nil && g.err == nil {
			g.err = fmt.Errorf("the comments of %s: %w", t.PkgPath(), err)
		}
		g.comments[dir] = comments
	}
	return withoutName(g.comments[dir][t.Name()+"."+f.Name], f.Name)
}

// withoutName removes the name of a field from the beginning of its comment: "Runs is the number" is "The number".
func withoutName(comment, name string) string {
	rest, ok := strings.CutPrefix(comment, name+" ")
	if !ok {
		return comment
	}
	for _, verb := range []string{"is ", "are "} {
		if noun, ok := strings.CutPrefix(rest, verb); ok {
			return sentence(noun)
		}
	}
	return sentence(rest)
}

// readComments returns the comments of the fields of all structs in a directory.
func readComments(dir string) (map[string]string, error) {
	comments := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return comments, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return comments, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if structure, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range structure.Fields.List {
					text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
					for _, name := range f.Names {
						comments[spec.Name.Name+"."+name.Name] = text
					}
				}
			}
			return true
		})
	}
	return comments, nil
}

// Keys lists the keys of the output of a command as a table, with the names of the keys of inner objects.
func (s *Schema) Keys(command string) string {
	var b strings.Builder
	b.WriteString("| key | type | meaning |\n|---|---|---|\n")
	d := s.Defs[strings.ReplaceAll(command, " ", "-")]
	keys(&b, d)
	return b.String()
}

// keys writes a row for each key of an object. The schema itself describes the keys of inner objects.
func keys(b *strings.Builder, s *Schema) {
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[key]
		required := ""
		if slices.Contains(s.Required, key) {
			required = "* "
		}
		var inner []string
		for of := p; of != nil; of = of.Items {
			for _, k := range slices.Sorted(maps.Keys(of.Properties)) {
				inner = append(inner, code(k))
			}
		}
		meaning := required + cell(p.Description)
		if len(inner) > 0 {
			meaning += " Keys: " + strings.Join(inner, ", ") + "."
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(key), p.kind(), meaning)
	}
}

// kind describes the type of a value.
func (s *Schema) kind() string {
	if s.Items != nil {
		return "array of " + s.Items.kind()
	}
	if s.Additional != nil {
		return "object of " + s.Additional.kind()
	}
	if len(s.Type) == 0 {
		return "any"
	}
	return strings.Join(s.Type, " or ")
}
