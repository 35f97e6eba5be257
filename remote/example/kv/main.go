// Command kv is an example of a replica: a small key-value store with a primary and its backups. Apart from the store
// itself, this file shows all the code that a replica needs.
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
	values := map[string]string{} // the state of this replica
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
			c.Event("put", rest) // before any backup has it: the bug
		},
		Deliver: func(_ int, _ string, body []byte) { apply(string(body)) },
	}))
}
