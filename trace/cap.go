package trace

import (
	"fmt"
	"unicode/utf8"
)

// MaxText bounds the length of a text in a trace: of a message, a state, an event, a finding. A longer text is
// truncated when it is made, with a note.
const MaxText = 4 << 10

// MaxBody bounds a forged body. It cannot be truncated because a replay needs all of it.
const MaxBody = 1 << 20

// Cap truncates a text that is too long for a trace and says how much is missing. It replaces bytes that are not
// UTF-8.
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
	head := string([]rune(text[:cut])) // invalid runes become U+FFFD
	if cut < len(text) {
		head += fmt.Sprintf("... (%d bytes more)", len(text)-cut)
	}
	return head
}
