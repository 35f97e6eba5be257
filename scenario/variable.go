package scenario

import (
	"fmt"
	"reflect"
)

// Var is a value of the type T that belongs to the run: a term, an index, a block. It is unset when the run begins,
// and conditions on it do not hold while it is unset.
type Var[T any] struct{ name string }

// Variable is the variable with the given name. All uses of a name must agree on the type.
func Variable[T any](name string) Var[T] { return Var[T]{name} }

// String is the name of the variable.
func (v Var[T]) String() string { return v.name }

// Set sets the variable to the result of a function of the moment. The text describes the result in reports.
func (v Var[T]) Set(text string, of func(*Moment) T) Action {
	return v.set(text, nothing, func(m *Moment) (T, bool) { return of(m), true })
}

// CaptureBody sets the variable to the result of a function of the moment's message. The function gets the system's own
// message, of type M. It does not change the message: [Rewrite] does.
func CaptureBody[M, T any](v Var[T], text string, of func(M) T) Action {
	return v.set(text, notes, func(m *Moment) (value T, ok bool) {
		msg, ok := bodyOf[M](m, text)
		if ok {
			value = of(msg)
		}
		return value, ok
	})
}

// CaptureValue sets the variable to the result of a function of the value, of type V, of the moment's event.
func CaptureValue[V, T any](v Var[T], text string, of func(V) T) Action {
	return v.set(text, nothing, func(m *Moment) (value T, ok bool) {
		if m.Event == nil {
			return value, false
		}
		e, ok := m.Event.Value.(V)
		if !ok {
			m.Abort(
				fmt.Errorf("%q is about values of type %T, but those of event %s are %T", text, e, m.Event.Type,
					m.Event.Value),
			)
			return value, false
		}
		return of(e), true
	})
}

// Forget unsets the variable.
func (v Var[T]) Forget() Action {
	return Action{text: "forget " + v.name, tame: true, compile: func(c *compiler) act {
		number := v.number(c, false)
		return func(m *Moment) bool {
			was := m.director.vars[number] != nil
			m.director.vars[number] = nil
			return was
		}
	}}
}

// IsSet holds while the variable has a value.
func (v Var[T]) IsSet() Condition {
	return Condition{v.name + " is set", func(c *compiler) test {
		number := v.number(c, false)
		return func(m *Moment) bool { return m.director.vars[number] != nil }
	}, remembered(v.name + " is set")}
}

// Is holds while the variable is set and its value satisfies the function at this moment.
func (v Var[T]) Is(text string, holds func(*Moment, T) bool) Condition {
	return v.condition(text, facts{}, holds)
}

// BodyWith holds when the moment concerns a message and a function of the system's own message and the variable's value
// reports true.
func BodyWith[M, T any](v Var[T], text string, holds func(M, T) bool) Condition {
	return v.condition(text, ofMessage(false), func(m *Moment, value T) bool {
		msg, ok := bodyOf[M](m, text)
		return ok && holds(msg, value)
	})
}

// ValueWith holds at an event of the given type if a function of the event's value and the variable's value reports
// true.
func ValueWith[V, T any](v Var[T], event, text string, holds func(V, T) bool) Condition {
	return IsEvent(event).And(v.condition(text, facts{}, func(m *Moment, value T) bool {
		e, ok := m.Event.Value.(V)
		if !ok {
			m.Abort(
				fmt.Errorf("%q is about values of type %T, but those of event %s are %T", text, e, event,
					m.Event.Value),
			)
		}
		return ok && holds(e, value)
	}))
}

func (v Var[T]) condition(text string, known facts, holds func(*Moment, T) bool) Condition {
	return Condition{text, func(c *compiler) test {
		number := v.number(c, false)
		return func(m *Moment) bool {
			value, ok := m.director.vars[number].(T)
			return ok && holds(m, value)
		}
	}, known}
}

func (v Var[T]) set(text string, what on, of func(*Moment) (T, bool)) Action {
	return Action{text: "set " + v.name + " to " + text, on: what, tame: true, compile: func(c *compiler) act {
		number := v.number(c, true)
		return func(m *Moment) bool {
			value, ok := of(m)
			if ok {
				m.director.vars[number] = value
			}
			return ok
		}
	}}
}

func (v Var[T]) number(c *compiler, gives bool) int {
	return c.variable(v.name, reflect.TypeFor[T]().String(), gives)
}
