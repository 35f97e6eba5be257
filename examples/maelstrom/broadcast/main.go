// Command broadcast is a node for Maelstrom's broadcast workload. It sends new values to its neighbors, and retries
// until they acknowledge them.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"sync"
	"time"
)

// message is a message on the wire.
type message struct {
	Src  string `json:"src"`
	Dest string `json:"dest"`
	Body body   `json:"body"`
}

// body has the fields of all kinds of message.
type body struct {
	Type      string              `json:"type"`
	MsgID     int                 `json:"msg_id,omitempty"`
	InReplyTo int                 `json:"in_reply_to,omitempty"`
	NodeID    string              `json:"node_id,omitempty"`
	Topology  map[string][]string `json:"topology,omitempty"`
	Message   int                 `json:"message,omitempty"`
	Messages  *[]int              `json:"messages,omitempty"`
}

type node struct {
	mutex     sync.Mutex
	id        string
	neighbors []string
	seen      []int
	open      map[string]map[int]bool // by neighbor: the values that it has not acknowledged
}

func main() {
	n := &node{open: map[string]map[int]bool{}}
	go n.insist()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			log.Fatal(err)
		}
		n.mutex.Lock()
		n.handle(m)
		n.mutex.Unlock()
	}
}

// insist sends unacknowledged values to the neighbors again.
func (n *node) insist() {
	for range time.Tick(50 * time.Millisecond) {
		n.mutex.Lock()
		for neighbor, values := range n.open {
			for v := range values {
				n.send(neighbor, body{Type: "news", Message: v})
			}
		}
		n.mutex.Unlock()
	}
}

func (n *node) handle(m message) {
	switch m.Body.Type {
	case "init":
		n.id = m.Body.NodeID
		n.reply(m, body{Type: "init_ok"})
	case "topology":
		n.neighbors = m.Body.Topology[n.id]
		n.reply(m, body{Type: "topology_ok"})
	case "read":
		n.reply(m, body{Type: "read_ok", Messages: &n.seen})
	case "broadcast":
		n.learn(m.Body.Message)
		n.reply(m, body{Type: "broadcast_ok"})
	case "news":
		n.learn(m.Body.Message)
		n.send(m.Src, body{Type: "heard", Message: m.Body.Message})
	case "heard":
		delete(n.open[m.Src], m.Body.Message)
	}
}

// learn records a new value and sends it to the neighbors.
func (n *node) learn(value int) {
	for _, v := range n.seen {
		if v == value {
			return
		}
	}
	n.seen = append(n.seen, value)
	for _, neighbor := range n.neighbors {
		if n.open[neighbor] == nil {
			n.open[neighbor] = map[int]bool{}
		}
		n.open[neighbor][value] = true
		n.send(neighbor, body{Type: "news", Message: value})
	}
}

func (n *node) reply(m message, b body) {
	b.InReplyTo = m.Body.MsgID
	if b.Messages != nil && *b.Messages == nil {
		b.Messages = &[]int{}
	}
	n.send(m.Src, b)
}

func (n *node) send(to string, b body) {
	line, err := json.Marshal(message{Src: n.id, Dest: to, Body: b})
	if err != nil {
		log.Fatal(err)
	}
	os.Stdout.Write(append(line, '\n'))
}
