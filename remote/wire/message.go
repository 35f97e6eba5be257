package wire

// Hello identifies a replica that is ready for orders.
type Hello struct {
	Node uint32            `json:"node,omitempty"`
	Info map[string]string `json:"info,omitempty"`
}

// Bye ends a call of Reports.
type Bye struct{}

// OrderKind is the kind of an order to a replica.
type OrderKind uint32

// The kinds of order.
const (
	Ask OrderKind = iota
	Welcome
	Reset
	Deliver
	Fire
	Request
	Stop
	Start
)

// Order is a single order to a replica. The kind determines which fields are used: see the definition.
type Order struct {
	Kind     OrderKind `json:"kind,omitempty"`
	Number   uint32    `json:"number,omitempty"`
	Run      uint32    `json:"run,omitempty"`
	Session  uint32    `json:"session,omitempty"`
	Nodes    uint32    `json:"nodes,omitempty"`
	Seed     Long      `json:"seed,omitempty"`
	Texts    bool      `json:"texts,omitempty"`
	From     uint32    `json:"from,omitempty"`
	Type     string    `json:"type,omitempty"`
	Body     []byte    `json:"body,omitempty"`
	Request  uint32    `json:"request,omitempty"`
	Text     string    `json:"text,omitempty"`
	Now      Long      `json:"now,omitempty"`
	Replicas []Hello   `json:"replicas,omitempty"`
}

// Report lists the effects of orders.
type Report struct {
	Session uint32   `json:"session,omitempty"`
	Run     uint32   `json:"run,omitempty"`
	Done    uint32   `json:"done,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
	State   string   `json:"state,omitempty"`
	Role    string   `json:"role,omitempty"`
}

// EffectKind is the kind of an order's effect.
type EffectKind uint32

// The kinds of effect.
const (
	Send EffectKind = iota
	Timer
	Cancel
	Event
)

// Effect is a single effect of an order.
type Effect struct {
	Kind  EffectKind `json:"kind,omitempty"`
	To    uint32     `json:"to,omitempty"`
	Type  string     `json:"type,omitempty"`
	Body  []byte     `json:"body,omitempty"`
	Phase uint32     `json:"phase,omitempty"`
	Round uint32     `json:"round,omitempty"`
	Text  string     `json:"text,omitempty"`
	After Long       `json:"after,omitempty"`
}
