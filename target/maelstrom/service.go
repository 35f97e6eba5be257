package maelstrom

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The relevant errors of Maelstrom.
const (
	codeTimeout      = 0 // the operation may have happened
	codeNotFound     = 10
	codeCrash        = 13 // it may have happened
	codeNoKey        = 20
	codePrecondition = 22
)

var serviceNames = []string{"lin-kv", "lin-tso", "lww-kv", "seq-kv"}

// services are the services that nodes can use besides each other. All of them act at once. They therefore guarantee
// more than their names promise: they never use the freedom that seq-kv and lww-kv have.
type services struct {
	maps map[string]map[string]json.RawMessage
	time int64
}

func newServices() services {
	s := services{maps: map[string]map[string]json.RawMessage{}}
	for _, name := range serviceNames {
		s.maps[name] = map[string]json.RawMessage{}
	}
	return s
}

func (s *services) has(name string) bool { return slices.Contains(serviceNames, name) }

// serve answers a request.
func (s *services) serve(m packet) json.RawMessage {
	var r struct {
		head
		Key    json.RawMessage `json:"key"`
		Value  json.RawMessage `json:"value"`
		From   json.RawMessage `json:"from"`
		To     json.RawMessage `json:"to"`
		Create bool            `json:"create_if_not_exists"`
	}
	var answer map[string]any
	if err := json.Unmarshal(m.Body, &r); err != nil {
		answer = fault(codeNotFound, "a request that cannot be read")
	} else {
		answer = s.act(m.Dest, r.Type, text(r.Key), r.Value, r.From, r.To, r.Create)
	}
	if r.MsgID != nil {
		answer["in_reply_to"] = *r.MsgID
	}
	b, err := json.Marshal(answer)
	if err != nil {
		panic(err) // cannot fail: it consists of JSON
	}
	return b
}

// text returns JSON without white space, so that equal values are equal texts.
func text(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func fault(code int, words string) map[string]any {
	return map[string]any{"type": "error", "code": code, "text": words}
}

func (s *services) act(service, kind, key string, value, from, to json.RawMessage, create bool) map[string]any {
	if service == "lin-tso" {
		if kind != "ts" {
			return fault(codeNotFound, "lin-tso knows ts")
		}
		s.time++
		return map[string]any{"type": "ts_ok", "ts": s.time - 1}
	}
	at := s.maps[service]
	was, there := at[key]
	switch kind {
	case "read":
		if !there {
			return fault(codeNoKey, fmt.Sprintf("key %s does not exist", key))
		}
		return map[string]any{"type": "read_ok", "value": was}
	case "write":
		at[key] = value
		return map[string]any{"type": "write_ok"}
	case "cas":
		switch {
		case !there && !create:
			return fault(codeNoKey, fmt.Sprintf("key %s does not exist", key))
		case there && text(was) != text(from):
			return fault(codePrecondition, fmt.Sprintf("%s is not %s", text(was), text(from)))
		}
		at[key] = to
		return map[string]any{"type": "cas_ok"}
	}
	return fault(codeNotFound, service+" knows "+strings.Join([]string{"read", "write", "cas"}, ", "))
}
