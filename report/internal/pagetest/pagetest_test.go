package pagetest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/report/internal/pagetest"
)

// The check itself detects a text that breaks out.
func TestTagsSeeWhatBreaksOut(t *testing.T) {
	for _, page := range []string{
		`<p>a<b>c</b></p>`, `<p class="x" onclick="y">`, `<p class=x>`, `<script>a</script><script>b</script>`,
	} {
		list, scripts := pagetest.Tags(page)
		fine := len(scripts) <= 1
		for _, one := range list {
			fine = fine &&
				slices.Contains([]pagetest.Tag{{"p", "class"}, {"p", ""}, {"/p", ""}, {"script", ""}, {"/script", ""}},
					one)
		}
		if fine {
			t.Errorf("%s passed as %v", page, fmt.Sprint(list))
		}
	}
}
