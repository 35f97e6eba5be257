// Command kv is a small key-value store on a primary and its backups, in the engine's hands:
// what stands here beside the store itself is all that it takes.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/lockstep-go/lockstep/remote/client"
)

func main() {
	options, err := client.FromEnvironment()
	if err != nil {
		log.Fatal(err)
	}
	c := client.Connect(options)
	values := map[string]string{} // what this replica knows
	apply := func(text string) {
		key, value, _ := strings.Cut(text, "=")
		values[key] = value
	}
	log.Fatal(c.Run(context.Background(), client.Handlers{
		Reset: func(uint64) { values = map[string]string{} },
		Stop:  func() { values = map[string]string{} }, // nothing is on disk
		Request: func(_ int, text string) {
			verb, rest, _ := strings.Cut(text, " ")
			if verb == "get" {
				c.Event("got", fmt.Sprintf("%s=%s", rest, values[rest]))
				return
			}
			apply(rest)
			c.Broadcast(client.Message{Type: "copy", Body: []byte(rest), Text: rest})
			c.Event("put", rest) // before anybody else has it: the mistake
		},
		Deliver: func(_ int, _ string, body []byte) { apply(string(body)) },
	}))
}
