package trace

import (
	"fmt"
	"unicode/utf8"
)

// MaxText bounds the length of a text in a trace: of a message, a state, an event, a
// finding. What is longer is cut when the text is made, and the cut is said.
const MaxText = 4 << 10

// MaxBody bounds a forged body, which cannot be cut because a replay needs all of it.
const MaxBody = 1 << 20

// Cap cuts a text that is too long for a trace and says how much is missing. What is not
// UTF-8 is replaced.
func Cap(text string) string {
	if len(text) <= MaxText && utf8.ValidString(text) {
		return text
	}
	return capped(text)
}

func capped(text string) string {
	cut := min(len(text), MaxText)
	for cut < len(text) && cut > MaxText-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	head := string([]rune(text[:cut])) // runes that are none become U+FFFD
	if cut < len(text) {
		head += fmt.Sprintf("... (%d bytes more)", len(text)-cut)
	}
	return head
}
