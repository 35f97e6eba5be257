package bubble_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/shown"
)

func TestEveryVerbIsShown(t *testing.T) {
	shown.Verbs(t, ".", "Describe", "Deploy", "String")
	shown.Verbs(t, "disk", "String")
	shown.Verbs(t, "wire", "String")
}
