// Package gen generates random values, usually clients' operations for systems that generate their requests instead
// of listing them.
//
// A generator is a function, and a larger one is a function that calls smaller ones:
//
//	key := gen.From("x", "y", "z")
//	put := func(s gen.Source) string { return fmt.Sprintf("put %s %d", key(s), gen.Int(1, 9)(s)) }
//	get := func(s gen.Source) string { return "get " + key(s) }
//	operation := gen.Weighted(gen.Case(3, get), gen.Case(1, put))
//
// Draws from a lockstep.Source are recorded with the step, so that shrinking a run makes its operations simpler by
// lowering the draws. Every generator makes its simplest value from zeros: the smallest number, the first choice, the
// shortest list. So name the simplest first.
package gen

// Source is the source of random numbers for values: IntN draws a number from 0 to n-1. A lockstep.Source is one, and
// so is a Rand of math/rand/v2.
type Source interface{ IntN(n int) int }

// Gen makes a value out of draws, always the same from the same draws.
type Gen[T any] func(Source) T

// Just always makes the same value.
func Just[T any](value T) Gen[T] { return func(Source) T { return value } }

// Int makes a number from least to most, both included.
func Int(least, most int) Gen[int] {
	if most < least {
		panic("gen: Int from a number to a smaller one")
	}
	return func(s Source) int { return least + s.IntN(most-least+1) }
}

// From makes one of the values.
func From[T any](values ...T) Gen[T] {
	if len(values) == 0 {
		panic("gen: From no values")
	}
	return func(s Source) T { return values[s.IntN(len(values))] }
}

// Choice is a generator with its weight among others.
type Choice[T any] struct {
	weight int
	gen    Gen[T]
}

// Case gives a generator a weight, 1 or more.
func Case[T any](weight int, g func(Source) T) Choice[T] {
	if weight < 1 {
		panic("gen: a Case with a weight below 1")
	}
	return Choice[T]{weight, g}
}

// Weighted makes a value with one of the generators, with probabilities in proportion to their weights.
func Weighted[T any](choices ...Choice[T]) Gen[T] {
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	if total == 0 {
		panic("gen: Weighted without choices")
	}
	return func(s Source) T {
		at := s.IntN(total)
		for _, c := range choices {
			if at -= c.weight; at < 0 {
				return c.gen(s)
			}
		}
		panic("unreachable")
	}
}

// List makes a list of least to most values.
func List[T any](least, most int, value func(Source) T) Gen[[]T] {
	length := Int(least, most)
	return func(s Source) []T {
		list := make([]T, length(s))
		for i := range list {
			list[i] = value(s)
		}
		return list
	}
}
