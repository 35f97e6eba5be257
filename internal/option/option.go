// Package option reads and writes the exported fields of a struct as key=value options, for strategies and targets. The
// fields of embedded structs are options, too.
//
// A key is the field's name in lower case with a dash between words: MaxInflight is max-inflight. The struct tag `help`
// describes the option; the struct's current value is the default. The tag `zero` is the meaning of a zero field
// ([Fill]). The tag `range`, as in `range:"1..9"` or `range:"10ms.."`, is the range of a number or time. The tag
// `oneof`, as in `oneof:"all leader"`, lists the allowed texts ([Check]).
//
// The tag `trust` marks an option whose value from a file can harm the user: see [Trust]. Such a value must come from
// the user's own command line. The tag `known`, as in `known:"3.5.8 3.9.5"`, lists the values of a marked option that a
// file may nevertheless name.
package option

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Option is one key with its default as text.
type Option struct {
	Key     string   `json:"key"`
	Default string   `json:"default"`
	Help    string   `json:"help"`
	Trust   Trust    `json:"trust,omitempty"`
	Known   []string `json:"known,omitempty"`
}

// Trust is the effect that the value of an option has on the program. The empty value and [Harmless] mean the same.
// [Harmless] is for options whose description mentions programs or files although their values name none.
type Trust string

// The kinds of option. Only the user's own command line may set those that are not harmless.
const (
	Harmless Trust = "harmless" // the value is a setting of the system, whatever its source
	Executes Trust = "executes" // the value names a program to start
	Reads    Trust = "reads"    // the value names a file to read
	Fetches  Trust = "fetches"  // the value names a program to download and start
)

// Does describes the effect of a value of this kind, for a sentence.
func (t Trust) Does() string {
	switch t {
	case "", Harmless:
		return "is a setting"
	case Executes:
		return "names a program to start"
	case Reads:
		return "names a file to read"
	default:
		return "names something to download and start"
	}
}

// Guarded reports whether only the user's own command line may set the option's value.
func (o Option) Guarded() bool { return o.Trust != "" && o.Trust != Harmless }

// FromFile reports whether a file, such as a trace, may set the option to this value.
func (o Option) FromFile(value string) bool { return !o.Guarded() || slices.Contains(o.Known, value) }

// List lists the options of a struct, whose current values are the defaults.
func List(v any) []Option {
	var list []Option
	rv := reflect.Indirect(reflect.ValueOf(v))
	for _, f := range fields(rv.Type()) {
		o := Option{
			Key:     key(f.Name),
			Default: text(rv.FieldByIndex(f.Index)),
			Help:    f.Tag.Get("help"),
			Trust:   Trust(f.Tag.Get("trust")),
		}
		o.Known = strings.Fields(f.Tag.Get("known"))
		list = append(list, o)
	}
	return list
}

// fields are the exported fields of a struct. Those of an embedded struct are among them, in its place.
func fields(t reflect.Type) (list []reflect.StructField) {
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			list = append(list, f)
		}
	}
	return list
}

// Text writes the options of a struct as "key=value,key=value". It leaves out those that are zero in it and in def, a
// struct of the same type or nil. Setting the text on def gives v.
func Text(v, def any) string {
	var parts []string
	rv, dv := reflect.Indirect(reflect.ValueOf(v)), reflect.ValueOf(def)
	for _, f := range fields(rv.Type()) {
		is := rv.FieldByIndex(f.Index)
		if !is.IsZero() || def != nil && !dv.FieldByIndex(f.Index).IsZero() {
			parts = append(parts, key(f.Name)+"="+text(is))
		}
	}
	return strings.Join(parts, ",")
}

// Fill sets every zero field of the struct that ptr points to. The value is that of the field's tag `zero`.
func Fill(ptr any) {
	rv := reflect.ValueOf(ptr).Elem()
	for _, f := range fields(rv.Type()) {
		is := rv.FieldByIndex(f.Index)
		if stands := f.Tag.Get("zero"); stands != "" && is.IsZero() {
			if err := set(is, key(f.Name), stands); err != nil {
				panic(fmt.Sprintf("the tag of %s in %s: %v", f.Name, rv.Type(), err))
			}
		}
	}
}

// Check reports the first field of a struct that its tag does not allow: a number or time outside its range, or a text
// that is not listed. A range is "1..64", or "1.." without an upper limit.
func Check(v any) error {
	rv := reflect.Indirect(reflect.ValueOf(v))
	for _, f := range fields(rv.Type()) {
		is := rv.FieldByIndex(f.Index)
		if w, ok := is.Interface().(Worded); ok && is.Uint() >= uint64(len(w.Words())) {
			return fmt.Errorf("%s is %d, allowed are %s", key(f.Name), is.Uint(), strings.Join(w.Words(), ", "))
		}
		if allowed := strings.Fields(f.Tag.Get("oneof")); len(allowed) > 0 &&
			!slices.Contains(allowed, is.String()) {
			return fmt.Errorf("%s is %q, allowed are %s", key(f.Name), is.String(), strings.Join(allowed, ", "))
		}
		if limits := f.Tag.Get("range"); limits != "" {
			if err := inRange(key(f.Name), is, limits); err != nil {
				return err
			}
		}
	}
	return nil
}

func inRange(key string, v reflect.Value, limits string) error {
	from, to, ok := strings.Cut(limits, "..")
	low, lowErr := limit(v, from)
	high, highErr := math.Inf(1), error(nil)
	if to != "" {
		high, highErr = limit(v, to)
	}
	if !ok || lowErr != nil || highErr != nil {
		panic(fmt.Sprintf("the range %q of %s is not like 1..64 or 1.., or 10ms.. for a time", limits, key))
	}
	switch is := number(v); {
	case is >= low && is <= high:
		return nil
	case to != "":
		return fmt.Errorf("%s is %v, allowed are %s", key, v, limits)
	case low == 0:
		return fmt.Errorf("%s is %v, it must not be negative", key, v)
	default:
		return fmt.Errorf("%s is %v, it must be at least %s", key, v, from)
	}
}

// limit parses one end of a range.
func limit(v reflect.Value, text string) (float64, error) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		return float64(d), err
	}
	return strconv.ParseFloat(text, 64)
}

func number(v reflect.Value) float64 {
	if v.CanFloat() {
		return v.Float()
	}
	return float64(v.Int())
}

// Within reports that a number is outside a range that depends on other options.
func Within[N ~int | ~int64](key string, is, low, high N) error {
	if is < low || is > high {
		return fmt.Errorf("%s is %d, allowed are %d..%d", key, is, low, high)
	}
	return nil
}

// Changed lists the options of a struct that differ from those of another struct of the same type, and the options
// named by always.
func Changed(v, usual any, always ...string) map[string]string {
	changed := map[string]string{}
	was := List(usual)
	for i, o := range List(v) {
		if o.Default != was[i].Default || slices.Contains(always, o.Key) {
			changed[o.Key] = o.Default
		}
	}
	return changed
}

// Cleared lists the options that are zero in a struct and not in another one of the same type.
func Cleared(v, def any) map[string]string {
	cleared := map[string]string{}
	rv, dv := reflect.Indirect(reflect.ValueOf(v)), reflect.Indirect(reflect.ValueOf(def))
	for _, f := range fields(rv.Type()) {
		if is := rv.FieldByIndex(f.Index); is.IsZero() && !dv.FieldByIndex(f.Index).IsZero() {
			cleared[key(f.Name)] = text(is)
		}
	}
	return cleared
}

// Set sets the field for a key of the struct that ptr points to. The error names the
// keys or the kind of value that are allowed.
func Set(ptr any, k, value string) error {
	rv := reflect.ValueOf(ptr).Elem()
	for _, f := range fields(rv.Type()) {
		if key(f.Name) == k {
			return set(rv.FieldByIndex(f.Index), k, value)
		}
	}
	var keys []string
	for _, o := range List(ptr) {
		keys = append(keys, o.Key)
	}
	if len(keys) == 0 {
		return fmt.Errorf("unknown key %q: there are none", k)
	}
	return fmt.Errorf("unknown key %q: allowed are %s", k, strings.Join(keys, ", "))
}

// With returns a copy of a struct with fields set from "key=value" pairs.
func With[T any](def T, pairs []string) (T, error) {
	p := reflect.New(reflect.TypeOf(def))
	p.Elem().Set(reflect.ValueOf(def))
	err := SetAll(p.Interface(), pairs)
	return p.Elem().Interface().(T), err
}

// SetAll sets fields from "key=value" pairs.
func SetAll(ptr any, pairs []string) error {
	for _, pair := range pairs {
		k, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q is not of the form key=value", pair)
		}
		if err := Set(ptr, strings.TrimSpace(k), strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

func set(f reflect.Value, k, value string) error {
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(value)); err != nil {
			return fmt.Errorf("%s=%s: %w", k, value, err)
		}
		return nil
	}
	if w, ok := f.Interface().(Worded); ok {
		i := slices.Index(w.Words(), value)
		if i < 0 {
			return fmt.Errorf("%s=%s: the value must be one of %s", k, value, strings.Join(w.Words(), ", "))
		}
		f.SetUint(uint64(i))
		return nil
	}
	var err error
	want := ""
	if f.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("%s=%s: the value must be a time such as 10ms or 1.5s", k, value)
		}
		f.SetInt(int64(d))
		return nil
	}
	switch f.Kind() {
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(value)
		f.SetBool(b)
		want = "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(value, 10, f.Type().Bits())
		f.SetInt(n)
		want = "a whole number"
	case reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(value, 10, 64)
		f.SetUint(n)
		want = "a whole number that is not negative"
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(value, 64)
		f.SetFloat(x)
		want = "a number"
	case reflect.String:
		f.SetString(value)
	default:
		return fmt.Errorf("%s cannot be set from text", k)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: the value must be %s", k, value, want)
	}
	return nil
}

func text(f reflect.Value) string {
	if s, ok := f.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprint(f.Interface())
}

// key turns MaxInflight into max-inflight.
func key(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Worded is a setting with named values: an unsigned integer whose values are indexes into the list of words.
type Worded interface{ Words() []string }

// Word returns the i-th of the words for a setting.
func Word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("(%d)", i)
}
