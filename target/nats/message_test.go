package nats

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/bubble/wire"
)

// The decoder names all data that servers write, however it is split.
func TestRoutes(t *testing.T) {
	d := routes(wire.Conn{})
	for i, c := range []struct {
		data, kind, text string
	}{
		{"INFO {\"server_id\":\"N\"}\r\n", "INFO", `{"server_id":"N"}`},
		{"RMSG $SYS $NRG.AE.C-R3F-x $NRG.R.abc 7\r\nseven-7\r\nPING\r\n", "append", "C-R3F-x; PING"},
		{"HMSG $G $KV.a.b rep 4 11\r\nhead", "HMSG", "$KV.a.b"},
		{"payload\r", "payload", ""},                   // all but the last byte
		{"\nRMSG $SYS $NRG.V.g r 0\r\n", "vote?", "g"}, // and that, and the beginning of the next
		{"\r\nPO", "", ""},
		{"NG\r\n", "PONG", ""},
		{"RMSG $NRG.AE.g $NRG.R.x 0\r\n\r\n", "append", "g"}, // on a connection for one account
		{"RMSG $G\r\n", "RMSG", ""},
		{"RMSG a b -5\r\nPING\r\n", "RMSG", "a; PING"},
		{"RS+ $G a\r\nRS+ $G b\r\n", "RS+", "$G a; RS+ $G b"},
		// Servers report fifty at once.
		{"RS+ $G a\r\nRS+ $G b\r\nRS+ $G c\r\nRS- $G d\r\n", "RS+", "3 subjects; RS- $G d"},
	} {
		kind, text := d.Decode(true, []byte(c.data))
		text, _, _ = strings.Cut(text, "[")
		if kind != c.kind || strings.TrimSpace(text) != c.text {
			t.Errorf("%d: %q is %q, %q, want %q, %q", i, c.data, kind, text, c.kind, c.text)
		}
	}
	if kind, _ := d.Decode(false, []byte("PONG\r\n")); kind != "PONG" {
		t.Error("the other direction is", kind)
	}
}

// No bytes make the decoder fail.
func FuzzRoutes(f *testing.F) {
	f.Add([]byte("RMSG a b 3\r\nabc\r\nPING\r\n"), 4)
	f.Fuzz(func(_ *testing.T, data []byte, cut int) {
		d := routes(wire.Conn{})
		cut = min(max(cut, 0), len(data))
		d.Decode(true, data[:cut])
		d.Decode(true, data[cut:])
	})
}
